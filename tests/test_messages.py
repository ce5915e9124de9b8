"""What is told of a fault, on any command line: where it is, and what to do next."""

import re
from pathlib import Path

import pytest

import collect
import grader
import run
from autograder import read_manifest
from checks.support.session import MANIFEST, Setting
from common.files import UserError
from faults import FAULTS
from helpers import ROOT, call
from instructor import __main__ as program
from instructor import commands
from instructor.grading.decision_files import COLUMNS
from jobs.targets import TARGETS

HEADERS = COLUMNS | {"eva.csv": ("id", "rubric", "points", "comment")}
KEPT = {
    "course.toml": "instructor.course.SETTINGS",
    "manifest.toml": f"{Setting.__module__}.MANIFEST",
}
THERE = "class/ada/model.py class/ben/model.py used/mine zipped.zip CLASS/empty/.hidden"
MAINS = {"grader": grader.main, "run": run.main, "collect": collect.main}
VERBS = """Add Check Choose Clone Correct Draw Give Keep Leave Make Name Remove Restore Run Save
    Take Unpack Use Write add build unpack"""
STEP = rf"(?m)\b({'|'.join(VERBS.split())}) |Did you mean|[Ee]xpected|should|must|needs|^usage: "
STEP += "|handout says"
COMMAND = re.compile(r"(\./run\.sh|python src/grader\.py|python -m instructor)([^\n`;,)]*)")


def parses(program, words):
    """Whether that program takes these words."""
    try:
        if "run.sh" in program:
            target = run.build_parser().parse_args(words).target
            return target in {*TARGETS, "all", "demo", "help", "test", "python"}
        if "grader" in program:
            return bool(read_manifest(MANIFEST).select(grader.build_parser().parse_args(words).ids))
        return bool(commands.parse(words))
    except SystemExit as end:
        return end.code == 0  # --help
    except (UserError, KeyError):
        return False


def is_real(program, words):
    """The same for as many of these words as belong to the command: all options are among them."""
    words = re.sub(r"[.:](\s.*)?$", "", words).split()
    taken = next((n for n in range(len(words), -1, -1) if parses(program, words[:n])), 0)
    return (taken or "grader" in program) and not any(word[0] == "-" for word in words[taken:])


def lay(folder, files):
    """Write these files, texts or bytes, into a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        raw = content if isinstance(content, bytes) else content.encode(errors="surrogateescape")
        (folder / name).write_bytes(raw)


@pytest.mark.parametrize("words, file, content, places", FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_told_with_its_place_and_a_next_step(
    tmp_path, monkeypatch, words, file, content, places
):
    """Commands, options and files that it names are there; nothing is lost or made."""
    settings = 'submissions = ["../class"]\n' + 'roster = "../roster.csv"\n' * ("roster" in file)
    lay(tmp_path, dict.fromkeys(THERE.split(), "mine") | {"CLASS/settings.toml": settings})
    if isinstance(content, str) and (header := HEADERS.get(Path(file).name)):
        content = f"{','.join(header)}\n{content}"
    if "settings" in file and "submissions" not in content:
        content += f"\n{settings}"
    lay(tmp_path, {file: content})
    if file in KEPT:
        monkeypatch.setattr(KEPT[file], tmp_path / file)
    if "CLASS" in words:  # is refused before anything is run
        monkeypatch.setattr(Setting, "isolation", lambda self: None)
        monkeypatch.setattr(Setting, "require_hidden", lambda self, shown: None)
    there = {*tmp_path.rglob("*")}
    before = {path: path.read_bytes() for path in there if path.is_file()}
    name, *more = words.split()
    command = [MAINS[name]] if name in MAINS else [program.main, name]
    done = call(*command, *more, cwd=tmp_path)
    said = re.sub(r"(?s)^usage: .*?error: ", "", done.stderr).replace(str(tmp_path), "")
    assert done.returncode and "Traceback" not in done.stderr and "\n  all " not in done.stdout
    assert [place for place in places.split("; ") if place not in said] == [], said
    assert re.search(STEP, done.stderr) or COMMAND.search(said), said
    assert all(is_real(*found) for found in COMMAND.findall(said)), said
    options = {*re.findall(r"(?<![\w-])--[a-z-]+", COMMAND.sub("", said))} - {*more}
    known = call(*command, "--help").stdout if options else ""
    assert not [option for option in options if not re.search(rf"{option}\b", known)], said
    files = re.findall(r"(?<![\w/])(?:docs|src|instructor|handout)/[\w./-]+\.\w+", said)
    assert all((ROOT / path).is_file() for path in files), said
    assert {path: path.read_bytes() for path in before} == before
    made = {*tmp_path.rglob("*")} - there
    assert not [path for path in made if "CLASS" not in path.parts or path.suffix == ".html"]
