"""An attack's surroundings: secrets with a canary in them, and sockets with a listener."""

import os
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from proof import HIDDEN, ROOT

from instructor.mistakes.patches import make

RESULTS = ROOT / "instructor" / "results"


class Scene:
    """One scene for a whole test run; a context manager.

    canary is a token in every secret and nowhere else; places are what the names in prelude.py
    stand for.
    """

    def __init__(self):
        self.canary, abstract = (name + secrets.token_hex(8) for name in ("canary", "hostile"))
        self.folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        hidden, gold, other = (self.folder / name for name in ("hidden", "gold", "other"))
        shutil.copytree(HIDDEN, hidden)
        shutil.copytree(ROOT / "instructor" / "gold", gold)
        make((), other)
        for folder in (hidden, gold, other):
            (folder / "canary.py").write_text(f"{self.canary!r}\n", encoding="utf-8")
        # Walls must hold, not the modes of files.
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.environ["HOSTILE_CANARY"] = self.canary
        file = self.folder / "socket"
        self.listeners = [socket.create_server(("127.0.0.1", 0))]
        for address in (str(file), f"\0{abstract}"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen(8)
            self.listeners.append(listener)
        file.chmod(0o666)  # as many services of a system have one
        places = {"ROOT": ROOT, "HOME": Path.home(), "UNIX": file, "ABSTRACT": abstract}
        places |= {"HIDDEN": hidden, "GOLD": gold, "OTHER": other}
        self.places = {name: str(place) for name, place in places.items()}
        self.places |= {"PORT": self.listeners[0].getsockname()[1], "JUDGE": os.getpid()}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for listener in self.listeners:
            listener.close()
        del os.environ["HOSTILE_CANARY"]
        shutil.rmtree(self.folder)

    def state(self) -> dict[Path, tuple]:
        """Return all that is in the secrets' folders, which no attack may change."""
        return {
            path: (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in self.folder.rglob("*")
        }
