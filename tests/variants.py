"""Submissions that differ from the reference: wrong ones, which must lose points, and right ones, which must not."""
from dataclasses import dataclass
from pathlib import Path

from instructor.starter import END, SOLUTION, START

from deliverables import ANSWERS, CODE       # instructor has put src/ on the path

# Every place that a student fills in: the file, and the number of its pair of markers there.
REGIONS = {
    "span": ("dataset.py", 0),
    "vanilla model": ("helper.py", 0),
    "rope model": ("helper.py", 1),
    "load": ("helper.py", 2),
    "finetune": ("helper.py", 3),
    "pretrain": ("helper.py", 4),
    "train": ("helper.py", 5),
    "cache": ("attention.py", 0),
    "rotate": ("attention.py", 1),
    "buffer": ("attention.py", 2),
    "attend": ("attention.py", 3),
    "input": ("model.py", 0),
    "numpy attention": ("numpy_attention.py", 0),
    "scaling": ("numpy_attention.py", 1),
    "heads init": ("encoder.py", 0),
    "heads": ("encoder.py", 1),
    "positions": ("encoder.py", 2),
    "layernorm": ("encoder.py", 3),
    "layer": ("encoder.py", 4),
    "encoder": ("encoder.py", 5),
    "copy": ("encoder.py", 6),
    "bag": ("encoder.py", 7),
    "train classifier": ("encoder.py", 8),
    "accuracy": ("encoder.py", 9),
    "entropy": ("encoder.py", 10),
    "sizes": ("accounting.py", 0),
    "head width": ("accounting.py", 1),
    "weight shapes": ("accounting.py", 2),
    "attention parameters": ("accounting.py", 3),
    "layer parameters": ("accounting.py", 4),
    "model parameters": ("accounting.py", 5),
    "score shape": ("accounting.py", 6),
    "score count": ("accounting.py", 7),
    "operations": ("accounting.py", 8),
    "flops": ("accounting.py", 9),
    "model flops": ("accounting.py", 10),
    "kv cache": ("accounting.py", 11),
    "sinusoidal": ("positions.py", 0),
    "sinusoidal at": ("positions.py", 1),
    "frequencies": ("positions.py", 2),
    "shift": ("positions.py", 3),
    "rope scores": ("positions.py", 4),
    "alibi": ("positions.py", 5),
    "interpolation": ("positions.py", 6),
    "monitor init": ("diagnostics.py", 0),
    "monitor update": ("diagnostics.py", 1),
    "monitor scalar": ("diagnostics.py", 2),
    "monitor close": ("diagnostics.py", 3),
    "every kth": ("efficient_attention.py", 0),
    "headers": ("efficient_attention.py", 1),
    "predicted": ("efficient_attention.py", 2),
    "attended": ("efficient_attention.py", 3),
    "connections": ("efficient_attention.py", 4),
    "sparse": ("efficient_attention.py", 5),
    "from dense": ("efficient_attention.py", 6),
    "sparse project": ("efficient_attention.py", 7),
    "sparse forward": ("efficient_attention.py", 8),
    "stream": ("efficient_attention.py", 9),
    "append": ("efficient_attention.py", 10),
    "cached": ("efficient_attention.py", 11),
    "cache bytes": ("efficient_attention.py", 12),
    "across": ("efficient_attention.py", 13),
    "remember": ("efficient_attention.py", 14),
    "ask": ("efficient_attention.py", 15),
    "scaled scores": ("fixes.py", 0),
    "clip": ("fixes.py", 1),
    "temperature": ("fixes.py", 2),
    "top k": ("fixes.py", 3),
    "top p": ("fixes.py", 4),
    "penalty": ("fixes.py", 5),
    "ngrams": ("fixes.py", 6),
    "generate": ("fixes.py", 7),
    "stack init": ("fixes.py", 8),
    "stack": ("fixes.py", 9),
    "depth init": ("fixes.py", 10),
}


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs exactly once in `file` of the reference, by `new`."""
    file: str
    old: str
    new: str

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        count = files[self.file].count(self.old)
        if count != 1:
            raise ValueError(f"{self.old!r} occurs {count} times in {self.file}")
        files[self.file] = files[self.file].replace(self.old, self.new)


@dataclass(frozen=True)
class Fill:
    """Write `code` between the markers of a region. The code is indented as a whole to where the markers stand."""
    region: str
    code: str

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        file, number = REGIONS[self.region]
        lines = files[file].split("\n")
        start = [i for i, line in enumerate(lines) if line.strip() == START][number]
        end = [i for i, line in enumerate(lines) if line.strip() == END][number]
        indent = lines[start][:len(lines[start]) - len(lines[start].lstrip())]
        code = [indent + line if line else line for line in self.code.strip("\n").split("\n")]
        files[file] = "\n".join(lines[:start + 1] + code + lines[end:])


@dataclass(frozen=True)
class Text:
    """Write the whole of `file` anew, or remove it (None)."""
    file: str
    text: str | None

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        del files[self.file]
        if self.text is not None:
            files[self.file] = self.text


@dataclass(frozen=True)
class Wrong:
    """A wrong submission: the misconception in a sentence, and the checks that must each take points for it."""
    name: str
    why: str
    changes: tuple
    caught_by: tuple[str, ...]


@dataclass(frozen=True)
class Right:
    """A right submission that looks different from the reference, and what about it does."""
    name: str
    what: str
    changes: tuple


def make(changes: tuple, folder: Path) -> Path:
    """Write the reference with changes applied, in their order, into `folder`, which is made."""
    files = {name: (SOLUTION / name).read_text(encoding="utf-8") for name in CODE + ANSWERS}
    for change in changes:
        change.apply(files)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return folder
