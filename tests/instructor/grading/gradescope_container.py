"""A container as Gradescope's, made of bubblewrap: root, with the rights that Docker leaves."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

from helpers import lack

CAPABILITIES = """
CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE
SYS_CHROOT KILL AUDIT_WRITE
""".split()
# Some of the system calls that Docker forbids; and LANDLOCK's, known to no kernel before 5.13.
FORBIDDEN = ("unshare", "mount", "umount2", "setns", "pivot_root")
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


def require_container():
    """Skip, or fail where REQUIRE_LEVELS is set, if no container can be made here."""
    here = {"root": os.geteuid() == 0, "bubblewrap": shutil.which("bwrap")}
    if missing := [name for name in here if not here[name]]:
        how = "a container can't be made without (bubblewrap: apt install bubblewrap)"
        lack(", ".join(missing), how, os.environ.get("REQUIRE_LEVELS"))


def run_in_container(
    archive,
    submission,
    command="/autograder/run_autograder",
    metadata="{}",
    forbidden=(),
    hidden=(),
    prepare=lambda source: None,
    **environment,
):
    """Run the autograder of a zip on a folder: results.json, the output and the exit code.
    `forbidden` system calls fail, `hidden` files are empty; `prepare` may change what was unpacked.
    """
    require_container()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "autograder")
        for name in ("source", "results"):
            (root / name).mkdir(parents=True)
        _unpack(archive, root / "source")
        prepare(root / "source")
        shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
        shutil.copytree(submission, root / "submission", symlinks=True)
        (root / "submission_metadata.json").write_text(metadata, encoding="utf-8")
        for path in (Path(folder), root):
            path.chmod(0o755)
        names = {"PATH": os.environ["PATH"], "HOME": "/root", "AUTOGRADER_PYTHON": sys.executable}
        options = {"env": names | environment, "timeout": 300, "encoding": "utf-8"}
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with open(_filter(Path(folder, "filter"), forbidden), "rb") as filter:
            words = [*_bubblewrap(root, hidden), "--seccomp", str(filter.fileno()), "--"]
            options |= {"stdin": subprocess.DEVNULL, "pass_fds": [filter.fileno()]}
            process = subprocess.run([*words, command], **options)
        path = root / "results" / "results.json"
        results = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return SimpleNamespace(results=results, output=process.stdout, code=process.returncode)


def _unpack(archive, into):
    """As Gradescope does; zipfile would forget which files are programs."""
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            Path(content.extract(entry, into)).chmod(entry.external_attr >> 16)


def _bubblewrap(root, hidden):
    command = "bwrap --unshare-pid --unshare-ipc --unshare-net --die-with-parent".split()
    command += ["--cap-drop", "ALL"]
    command += [word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")]
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir() and path.name not in ("autograder", "dev", "proc", "lost+found"):
            command += ["--bind" if path.name == "tmp" else "--ro-bind", str(path), str(path)]
    for path in hidden:
        command += ["--ro-bind", "/dev/null", path]
    command += f"--dev /dev --perms 1777 --size {64 << 20} --tmpfs /dev/shm".split()
    return [*command, *f"--proc /proc --bind {root} /autograder --chdir /autograder".split()]


def _filter(path, forbidden):
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in (*FORBIDDEN, *forbidden):
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    new_users = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 0x10000000, 0x10000000)  # CLONE_NEWUSER
    rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", new_users)
    with open(path, "wb") as file:
        rules.export_bpf(file)
    return path
