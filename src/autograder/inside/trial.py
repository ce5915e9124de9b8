"""Trying walls out: a fork attempts what a submission must not be able to do, and what it must. Nothing is believed untried."""
import json
import os
import socket
import sys
import tempfile

from .fork import Server
from .walls import python_folders
from .watch import descendants

LIMITS = {"seconds": 10, "memory": 1024, "disk": 16, "processes": 64, "files": 256}


def main(walls: str, readable: list[str], secret: str, judge: int) -> None:
    """Print, as a JSON list, what is wrong with the walls; an empty list if nothing is.

    Args:
        walls: the rung; see fork.Server.
        readable: as there.
        secret: a file that must be out of reach, in a folder that must be, too.
        judge: the process id of the judge.
    """
    try:
        server = Server(walls, readable, channel=0)
        scratch = tempfile.mkdtemp()
        if server.user is not None:
            os.chown(scratch, server.user, server.user)
        sys.stdout.flush()
        pid = os.fork()
        if pid and pid not in descendants():
            raise OSError("what a submission's processes use cannot be seen: this kernel has no /proc/PID/task/TID/children")
        if pid == 0:
            try:
                server.enter(LIMITS, scratch)
                wrong = attempt(secret, judge)
            except OSError as error:
                wrong = [str(error)]
            print(json.dumps(wrong), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        os.rmdir(scratch)
    except OSError as error:
        print(json.dumps([str(error)]))


def attempt(secret: str, judge: int) -> list[str]:
    """What this process could do though it should not, or could not though it should, in words."""
    def works(action):
        try:
            action()
            return True
        except OSError:
            return False

    wrong = []
    forbidden = {
        "reads files of the grader": lambda: open(secret).close(),
        "writes into folders of the grader": lambda: open(secret + ".new", "w").close(),
        "opens internet sockets": lambda: socket.socket(socket.AF_INET).close(),
        "becomes root": lambda: os.setuid(0) if os.getuid() != 0 else None,
    }
    if os.getppid() != 1:       # in a process namespace of our own, the number is another process's
        forbidden["signals the grader"] = lambda: os.kill(judge, 0)
        forbidden["reads the grader's environment"] = lambda: open(f"/proc/{judge}/environ", "rb").read(1)
    wrong += [f"a submission {what}" for what, action in forbidden.items() if works(action)]
    file = os.path.join(os.environ["TMPDIR"], "file")
    if not works(lambda: open(file, "w").close() or os.remove(file)):
        wrong.append("it cannot write into its own scratch folder")
    closed = [folder for folder in python_folders() if not works(lambda: os.close(os.open(folder, os.O_RDONLY)))]
    if closed:
        wrong.append(f"it cannot read {closed[0]}, where this Python is: a folder above is closed to other users (chmod o+x opens it)")
    return wrong
