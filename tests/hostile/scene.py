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
        here, stream, packets = ("127.0.0.1", 0), socket.SOCK_STREAM, socket.SOCK_DGRAM
        kinds = {
            "tcp": (socket.AF_INET, stream, here),
            "udp": (socket.AF_INET, packets, here),
            "unix": (socket.AF_UNIX, stream, str(self.folder / "socket")),
            "abstract": (socket.AF_UNIX, stream, f"\0{self.canary}"),
        }
        sockets = {}
        for name, (family, kind, address) in kinds.items():
            sockets[name] = socket.socket(family, kind)
            sockets[name].bind(address)
            sockets[name].setblocking(False)
            if kind == stream:
                sockets[name].listen(8)
        (self.folder / "socket").chmod(0o666)  # as many services of a system have one
        return sockets

    @property
    def places(self) -> dict[str, str]:
        """What each name of prelude.py stands for."""
        names = {
            "ROOT": ROOT,
            "HIDDEN": self.folder / "hidden",
            "GOLD": self.folder / "gold",
            "OTHER": self.other,
            "HOME": Path.home(),
            "UNIX": self.folder / "socket",
            "ABSTRACT": self.canary[::-1],
        }
        ports = {name.upper(): self.sockets[name].getsockname()[1] for name in ("tcp", "udp")}
        return {name: str(place) for name, place in names.items()} | ports | {"JUDGE": os.getpid()}

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
            content = path.read_bytes() if stat.S_ISREG(mode) else b""
            digest.update(f"{path} {mode} ".encode() + content)
        return digest.hexdigest()
