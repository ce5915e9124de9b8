"""A release of some problems: it has these and no trace of the others, and works."""

import json
import random
import re
import shutil
import subprocess
import sys

import pytest

from autograder import read_manifest
from checks.support.session import MANIFEST, Setting, grade_submission
from helpers import call, copy_reference
from instructor import __main__ as program
from instructor import course as course_module
from instructor.course import Course, read_course
from instructor.documents.sources import answer_sheet
from instructor.release import build
from instructor.release.leaks import text_of
from instructor.release.smoke_test import commands
from instructor.release.starter import places
from instructor.release.traces import find_traces
from jobs.deliverables import lent
from jobs.targets import PROBLEMS, TARGETS

FIRST, SECOND = Course("One", problems=(1, 3, 4)), Course("Two", problems=(5, 6), given=("1h",))
OTHERS = Course("Five", problems=(5,)), Course("Mixed", problems=(1, 2, 6))
COURSES = [FIRST, SECOND, *(pytest.param(course, marks=pytest.mark.full) for course in OTHERS)]
WHOLE = read_manifest(MANIFEST)


@pytest.fixture(scope="module", params=COURSES, ids=lambda course: course.title)
def built(request, tmp_path_factory):
    tree = tmp_path_factory.mktemp("release") / "tree"
    files = build.release_files(request.param, {})
    build.write_tree(files, tree)
    return request.param, files, tree


@pytest.fixture
def of_course(tmp_path_factory, monkeypatch):
    def use(course):
        settings = tmp_path_factory.mktemp("settings") / "course.toml"
        settings.write_text(course.as_toml(), encoding="utf-8")
        monkeypatch.setattr(course_module, "SETTINGS", settings)

    return use


def run(tree, *words):
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=tree, capture_output=True, encoding="utf-8")
    return done.stdout + done.stderr, done.returncode


def test_what_is_lent_belongs_to_the_questions_that_are_built_on():
    for number in PROBLEMS:
        questions = WHOLE.only([number]).questions
        bases = {base for id in questions for base in WHOLE.bases(id) if base[0] != number}
        assert {place.question for place in places() if place.file in lent([number])} == bases


def test_it_has_what_its_problems_need_and_no_trace_of_the_others(built):
    """What is about training, and the reference's code of what is given, only where it belongs."""
    course, files, _ = built
    texts = {name: text_of(name, content) for name, content in files.items()}
    assert find_traces(texts, course) == []
    there = {name.removeprefix("src/submission/") for name in files if "src/submission/" in name}
    students = {name for problem in PROBLEMS.values() for name in problem.code}
    numbers = [number for number in course.numbers if number in PROBLEMS]
    chosen = {name for number in numbers for name in PROBLEMS[number].code}
    assert there & students == chosen | {*lent(course.numbers)}
    folders = {problem for name in files for problem in re.findall(r"problem\d", name)}
    assert folders == {f"problem{number}" for number in course.numbers if number != "2"}
    if 6 in course.problems:  # its debugging trains models
        needed = ("data/laptop/wiki.txt", "src/submission/model.py", "src/submission/utils.py")
        assert {*needed} <= files.keys()
    trains = 1 in course.problems
    machines = {"docs/running.md", "slurm.sbatch", "train_on_gpu.ipynb"}
    assert machines & files.keys() == (machines if trains else set())
    assert ("dashboard" in texts["README.md"]) == (trains and 6 in course.problems)
    given = texts.get("src/submission/attention.py", "")
    assert ("torch.outer(" in given) == bool(course.given)
    assert not course.given or not re.search(r"START_CODE|\[part|Hint", given)


def test_its_manifest_and_its_programs_know_its_problems_alone(built):
    boxes = re.compile(r"\\begin\{answerbox\}\{(\d)")
    mine = [n for n in boxes.findall(answer_sheet(WHOLE_COURSE)) if n in built[0].numbers]
    assert boxes.findall(answer_sheet(built[0])) == mine != []
    course, files, tree = built
    mine, ours = read_manifest(tree / "src" / "checks" / "manifest.toml"), course.manifest()
    assert (mine.questions, mine.checks) == (ours.questions, ours.checks)
    asked, trains = {*course.numbers} - {"2"}, 1 in course.problems
    assert {id[0] for id in mine.questions} == asked
    assert mine.settings == (WHOLE.settings if trains else {})
    shown, _ = run(tree, "src/run.py", "help")
    for target in TARGETS.values():
        there = target.question[0] in course.numbers and (trains or not target.log)
        assert (re.search(rf"\b{target.target}\b", shown) is not None) == there, target.target
    assert ("demo " in shown) == ("--for-gpu" in run(tree, "src/collect.py", "--help")[0]) == trains
    listed, code = run(tree, "src/grader.py", "--list")
    assert code == 0 and {*re.findall(r"^(\d)[a-z]  ", listed, re.MULTILINE)} == asked
    other = next(target for target in TARGETS.values() if target.question[0] in course.others)
    shown, code = run(tree, "src/run.py", other.target)
    assert code == 2 and f"no target '{other.target}'" in shown


WHOLE_COURSE, MOST = Course("T"), Course("T", problems=(1, 2, 5, 6))
TRACES = [  # what may be a trace, in which courses it is one, and in which it is none
    ("src/a.py", "# as in question 6d", [FIRST], [SECOND]),
    ("README.md", "See 5(b).", [FIRST], [SECOND]),
    ("README.md", "see Problem 5", [FIRST], [SECOND]),
    ("README.md", "`./run.sh encoder_copy`", [FIRST], [SECOND]),
    ("src/a.py", "# encoder.py", [FIRST], [SECOND]),
    ("src/problem6/a.py", "", [FIRST], [SECOND]),
    ("src/encoder.py", "", [FIRST], [SECOND]),
    ("a.py", "x = 1e-5 + 6e-4; f'{x:.5f}'; problem 1, 3 and 4, 1h", [], [FIRST]),
    ("a.py", "problem 1, 1h, 6d", [], [MOST, WHOLE_COURSE]),
    ("a.py", "problem 1, 4a, 6d", [], [WHOLE_COURSE]),
]


@pytest.mark.parametrize("name, text, others, own", TRACES)
def test_traces_are_found(name, text, others, own):
    assert all(find_traces({name: text}, course) for course in others)
    assert not any(find_traces({name: text}, course) for course in own)


def test_the_upload_autograder_grades_the_problems_of_the_course(tmp_path, of_course):
    of_course(FIRST)
    assert call(program.main, "gradescope", tmp_path / "a.zip").returncode == 0
    shutil.unpack_archive(tmp_path / "a.zip", tmp_path / "zip")
    failed = (tmp_path / "zip" / "failed.json").read_text(encoding="utf-8")
    assert {*re.findall(r'"(?:number|name)": "(\d)[a-z(]', failed)} == {"1"}
    settings = json.loads((tmp_path / "zip" / "settings.json").read_text(encoding="utf-8"))
    assert settings["problems"] == ["1", "3", "4"]


@pytest.mark.parametrize("kept", ["", "1 / 0\n"])
def test_the_given_solution_is_ours_in_grading(tmp_path, kept):
    mine = copy_reference(tmp_path / "mine")
    (mine / "attention.py").unlink()
    if kept:
        (mine / "attention.py").write_text(kept, encoding="utf-8")
    manifest = SECOND.manifest()
    checks = [manifest.checks[id] for id in ("6c-6-basic", "6d-9-basic")]
    setting = Setting(hidden=True, weak=True, problems=SECOND.numbers)
    report = grade_submission(mine, checks, setting, random.randrange(2**62), manifest)
    assert report.passed, [outcome.details for outcome in report.outcomes.values()]
    assert not [notice for notice in report.notices if "helper.py" in notice]


@pytest.mark.full
@pytest.mark.longest
@pytest.mark.parametrize("course", [read_course(), FIRST, SECOND], ids=lambda each: each.title)
def test_it_proves_itself_as_a_release_does(tmp_path, of_course, course):
    of_course(course)
    done = call(program.main, "release", tmp_path / "x")
    assert done.returncode == 0 and "failed" not in done.stdout, done.stderr
    assert "from submission.zip" in done.stdout
    steps = len(commands(course.manifest())) + 4
    assert len(re.findall(r"(?m)^  ok ", done.stdout)) == steps
    assert ("hand it out" in done.stdout) == bool(course.given)
    assert {path.name for path in tmp_path.iterdir()} == {"x", "x.zip"}
    pages = (tmp_path / "x" / "handout" / "pages.json").read_text(encoding="utf-8")
    assert {*re.findall(r'"(\d)[a-z]": \d', pages)} == {*course.handed_out}
