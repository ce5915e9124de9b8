"""An attack's surroundings: secrets with a canary in them, and sockets with a listener."""

import hashlib
import os
import secrets
import shutil
import socket
import stat
import tempfile
from pathlib import Path

from proof import HIDDEN, ROOT

from instructor.mistakes.patches import make

RESULTS = ROOT / "instructor" / "results"


class Scene:
    """One scene for a whole test run; a context manager.

    canary is a token in every secret and nowhere else.
    """

    def __init__(self):
        self.canary = "canary" + secrets.token_hex(8)
        self.folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        for name, source in (("hidden", HIDDEN), ("gold", ROOT / "instructor" / "gold")):
            shutil.copytree(
                source, self.folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        self.other = make((), self.folder / "other")
        for name in ("hidden", "gold", "other"):
            (self.folder / name / "canary.py").write_text(f"{self.canary!r}\n", encoding="utf-8")
        # Walls must hold, not the modes of files.
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.environ["HOSTILE_CANARY"] = self.canary
        self.sockets = self._listen()
        self.state = self._digest()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for listener in self.sockets.values():
            listener.close()
        del os.environ["HOSTILE_CANARY"]
        shutil.rmtree(self.folder)

    def _listen(self):
        """Open a socket of each kind that a submission may try to connect to; only heard() reads
        from them.
        """
        sockets = {
            "tcp": socket.socket(socket.AF_INET),
            "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        }
        for listener in sockets.values():
            listener.bind(("127.0.0.1", 0))
        for name, address in (
            ("unix", str(self.folder / "socket")),
            ("abstract", f"\0{self.canary}"),
        ):
            sockets[name] = socket.socket(socket.AF_UNIX)
            sockets[name].bind(address)
        (self.folder / "socket").chmod(0o666)  # as many services of a system have one
        for listener in sockets.values():
            listener.setblocking(False)
            if listener.type == socket.SOCK_STREAM:
                listener.listen(8)
        return sockets

    @property
    def places(self) -> dict[str, str]:
        """What each name of prelude.py stands for."""
        ports = {name: self.sockets[name].getsockname()[1] for name in ("tcp", "udp")}
        return {
            "ROOT": str(ROOT),
            "HIDDEN": str(self.folder / "hidden"),
            "GOLD": str(self.folder / "gold"),
            "OTHER": str(self.other),
            "JUDGE": os.getpid(),
            "HOME": str(Path.home()),
            "TCP": ports["tcp"],
            "UDP": ports["udp"],
            "UNIX": str(self.folder / "socket"),
            "ABSTRACT": self.canary[::-1],
        }

    def heard(self) -> list[str]:
        """Return the sockets contacted since the last call."""
        called = []
        for name, listener in self.sockets.items():
            try:
                while True:
                    if listener.type == socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    else:
                        listener.recv(4096)
                    called.append(name)
            except BlockingIOError:
                pass
        return called

    def spoiled(self) -> bool:
        """Whether anything in the secrets' folders was changed."""
        return self._digest() != self.state

    def _digest(self):
        digest = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            mode = path.lstat().st_mode
            digest.update(
                f"{path} {mode} ".encode() + (path.read_bytes() if stat.S_ISREG(mode) else b"")
            )
        return digest.hexdigest()
