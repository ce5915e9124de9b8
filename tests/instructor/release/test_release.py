"""The release: what students need and nothing else, the same bytes every time, and a smoke test of
it.
"""

import argparse
import dataclasses
import getpass
import io
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

from autograder import read_manifest
from checks.support.session import MANIFEST
from collect import write_zip
from common.files import UserError
from conftest import ROOT, STARTER, copy_reference
from instructor.checks.solving import all_questions
from instructor.course import Course, read_course
from instructor.datasets.worlds.editions import EDITIONS, EXERCISES
from instructor.datasets.worlds.exercises import as_json, blank, solve
from instructor.release import build, known_secrets, leaks, smoke_test
from instructor.release import command as release_command
from instructor.release.starter import END, START
from run import build_parser

COHORT = 987654321012
WHOLE = read_manifest(MANIFEST)
GOLD_FOLDER = ROOT / "instructor" / "gold"
COPIES = ("submission", "checks/given")  # folders of src/ with the starter
COURSE = dataclasses.replace(read_course(), title="A title", course="A course", due="a day")


def command(*arguments):
    """Run the command in this process, like python -m instructor. (test_handout.py tests releases
    with a handout.)
    """
    parser = argparse.ArgumentParser()
    release_command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["release", "--no-handout", *map(str, arguments)])
    return args.run(args)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a release, and its zip."""
    folder = tmp_path_factory.mktemp("release")
    build.make_tree(folder / "tree", COURSE)
    build.zip_tree(folder / "tree", folder / "tree.zip")
    return folder / "tree", folder / "tree.zip"


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """The folder of a cohort's release, its answers' folder, and its secret seeds."""
    folder = tmp_path_factory.mktemp("cohort")
    seeds = build.make_tree(folder / "tree", COURSE, COHORT, folder / "gold")
    return folder / "tree", folder / "gold", seeds


@pytest.fixture(scope="module")
def secrets():
    return known_secrets.gather_secrets()


# What is in it

TOP = """
    .devcontainer .gitattributes .github .gitignore .vscode AGENTS.md CLAUDE.md LICENSE README.md
    collect_submission.bat
    collect_submission.sh course.toml data docs environment.yml pyproject.toml requirements.lock
    run.bat run.sh slurm.sbatch src train_on_gpu.ipynb
"""
AMONG = """
    data/wiki.txt data/laptop/birth_test_inputs.tsv data/hand_attention.json
    data/occupations/train.tsv data/occupations/dev.tsv src/launch.py src/checks/manifest.toml
    src/checks/given/model.py src/checks/given/problem5/hand_attention.json
    src/submission/problem5/hand_attention.json src/submission/problem6/choices.toml
    src/submission/mingpt-demo/play_char.ipynb
"""


def test_it_has_what_students_need_and_nothing_else(built):
    names = build.read_tree(built[0]).keys()
    assert sorted({name.split("/")[0] for name in names}) == sorted(TOP.split())
    assert [name for name in names if name.startswith("docs")] == ["docs/running.md"]
    assert {path.relative_to(ROOT).as_posix() for path in STARTER.rglob("*.py")} == {
        name for name in names if re.fullmatch(r"src/submission/.+\.py", name)
    }
    assert {*AMONG.split()} <= names
    assert build.tracked_files(["src"], ()) <= names, "what jobs read lies beside them"
    assert {f"src/checks/cases/{question}.zip" for question in all_questions()} <= names
    assert not [name for name in names if "gold" in name or "__pycache__" in name]


def test_files_that_git_does_not_track_stay_here(tmp_path, monkeypatch):
    for name in ("src/a.py", "src/mine.py", "src/result.txt", "src/.b.py", "instructor/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(build, "ROOT", tmp_path)
    # a copy without history
    assert set(build.released_files()) == {"src/a.py", "src/mine.py", *build.FILES}
    git = ["git", "-C", str(tmp_path)]
    for words in ("init -q", "add src/a.py src/result.txt src/.b.py instructor"):
        subprocess.run([*git, *words.split()], check=True)
    assert set(build.released_files()) == {"src/a.py", *build.FILES}
    (tmp_path / "src" / "checks").mkdir()
    (tmp_path / "src" / "checks" / "q2a.py").touch()  # which a release without it would miss
    with pytest.raises(UserError, match="src/checks/q2a.py.*git add"):
        build.released_files()


def test_its_documents_are_for_students(built, tmp_path):
    """Their links lead somewhere, and the options that they name are there."""
    readme = (built[0] / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# A title\n\nA course\n\n**Due: a day**\n\n")
    assert "## 1. Environment" in readme and "./collect_submission.sh" in readme
    assert "instructor" not in readme.lower() and "python -m" not in readme
    assert "| 1c | Span corruption | `dataset.py` |" in readme
    text = (built[0] / "docs" / "running.md").read_text(encoding="utf-8")
    assert "`dashboard`" in readme and "<!--" not in readme + text
    for name in ("README.md", "docs/running.md", "data/README.md", "data/problem1.md"):
        document = built[0] / name
        links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
        assert all((document.parent / link).is_file() for link in links), name
    typed = " ".join(re.findall(r"`[^`\n]*?\./run\.sh [^`]*`|`--[^`]*`", text))
    known = {*build_parser()._option_string_actions, "--shm-size", "--version"}
    assert {*re.findall(r"--[a-z-]+", typed)} <= known
    for name in build.ASSISTANTS:
        assert (built[0] / name).read_text(encoding="utf-8") == COURSE.assistants
    assert "Never write" in COURSE.assistants and "src/grader.py ID" in COURSE.assistants
    build.make_tree(tmp_path / "tree", Course("A title"))
    assert not {*build.ASSISTANTS} & {path.name for path in (tmp_path / "tree").iterdir()}


def test_settings_of_the_course_are_in_it(built):
    assert read_course(built[0] / "course.toml") == COURSE
    mine, ours = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        for folder in (built[0], ROOT)
    )
    assert mine["project"]["dependencies"] == ours["project"]["dependencies"]
    assert "optional-dependencies" not in mine["project"] and "pytest" not in mine["tool"]


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("title = 1", "line of text"),
        ("title = 'a'\nassistants = 1", "assistants should be text"),
        ("title = ' '", "no title"),
        ("course = 'x'", "nothing else"),
        ("title = 'a'\nteacher = 'b'", "teacher"),
        ("title", "nothing else"),
        ("title = 'a'\ndue = 'two\\nlines'", "--due"),
        *(
            (f"title = 'a'\n{wrong}", "should be a list such as")
            for wrong in ("problems = 1", "problems = ['1']", "given = [1]", "given = '1h'")
        ),
    ],
)
def test_wrong_settings_of_the_course_are_named(tmp_path, text, complaint):
    (tmp_path / "course.toml").write_text(text.replace("'", '"'), encoding="utf-8")
    with pytest.raises(UserError, match=complaint):
        read_course(tmp_path / "course.toml")


def test_settings_of_the_course_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "course.toml"
    odd = Course('A "title" \\ with # 日本', "", "23:59", problems=(5, 6), given=("1h",))
    path.write_text(odd.as_toml(), encoding="utf-8")
    assert read_course(path) == odd
    assert read_course(path, due="later", course=None) == dataclasses.replace(odd, due="later")


def test_the_projects_tests_are_not_in_it(built):
    words = [str(built[0] / "run.sh"), "test"]
    done = subprocess.run(words, capture_output=True, encoding="utf-8")
    assert done.returncode == 2 and "not part of this copy" in done.stderr


@pytest.mark.full
def test_the_same_bytes_every_time(built, tmp_path):
    """With another umask, time zone, language, day and name of OUT."""
    out = tmp_path / "other"
    code = "import os, sys; os.umask(0o077); from instructor.__main__ import main; sys.exit(main())"
    options = ["--title", COURSE.title, "--course", COURSE.course, "--due", COURSE.due]
    process = subprocess.run(
        [sys.executable, "-c", code, "release", out, "--no-handout", "--no-proof", *options],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"},
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "other.zip").read_bytes() == built[1].read_bytes()
    assert build.read_tree(out) == build.read_tree(built[0])
    for path in [out, *out.rglob("*")]:
        mode = 0o755 if path.is_dir() or path.suffix == ".sh" else 0o644
        assert path.stat().st_mode & 0o777 == mode, path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "other.zip"]
    with zipfile.ZipFile(built[1]) as archive:
        names, entries = archive.namelist(), archive.infolist()
    assert names == sorted(names) and all(
        name.startswith("transformer-assignment/") for name in names
    )
    programs = [entry.filename for entry in entries if entry.external_attr >> 16 == 0o100755]
    assert [name.split("/")[1] for name in programs] == ["collect_submission.sh", "run.sh"]


# Leaks


def test_nothing_leaks(built, secrets):
    assert leaks.find_leaks(build.read_tree(built[0]), secrets) == []
    files, problems = leaks.read_zip(built[1])
    assert problems == [] and len(files) == len(build.read_tree(built[0]))


def read(*names):
    """The text of a file of instructor/."""
    return ROOT.joinpath("instructor", *names).read_text(encoding="utf-8")


def body_of(name):
    """The longest line between the solution's markers in a file."""
    bodies = re.findall(f"{START}(.*?){END}", read("solution", name), re.DOTALL)
    return max((line.strip() for line in "\n".join(bodies).splitlines()), key=len)


def notebook(text):
    outputs = [{"data": {"text/plain": ["1\n", "  " + text]}}]
    return json.dumps({"cells": [{"source": [], "outputs": outputs}]})


Q1H = "src/checks/problem1/q1h.py"
# the longest function of the hidden checks of 1h
HIDDEN = max(re.findall(r"(?ms)^def .*?(?=^\S|\Z)", read("checks/problem1/q1h.py")), key=len)
GOLD = read("gold/laptop/birth_test.tsv").splitlines()
PLACES = [row.split("\t")[1] for row in GOLD[10:25]]
KEPT = read("gold/occupations/test.tsv").splitlines()[7].partition("\t")[0]
BY_HAND = json.loads(read("solution/problem5/hand_attention.json"))
PHRASE = max(known_secrets._phrases(known_secrets.WRITTEN_ANSWERS))
FULL, LAPTOP = EDITIONS["full"][0], EDITIONS["laptop"][0]
USER = getpass.getuser()
PLANTS = [  # file, text, what is said of it
    ("instructor/x.py", "", "instructor"),
    ("src/checks/q1c_hidden.py", "", "q1c_hidden.py"),
    ("src/checks/q1cHidden.py", "", "q1cHidden.py"),
    ("src/solutions/x.py", "", "solutions"),
    ("data/birth_test.tsv", "", "birth_test.tsv"),
    ("data/occupations/test.tsv", "", "test.tsv"),
    ("data/traces.json.gz", "", "traces.json.gz"),
    ("src/submission/rope.finetune.params", "", "rope.finetune.params"),
    ("src/submission/encoder.params", "", "encoder.params"),
    (".git/config", "", ".git"),
    ("src/a.py", f"x = 1\n\n    {body_of('attention.py')}", "line 3: a line of the solution in"),
    ("src/submission/helper.py", f"# {body_of('helper.py')}", "the solution in helper.py"),
    ("src/a.ipynb", notebook(body_of("dataset.py")), "the solution in dataset.py"),
    (Q1H, max(HIDDEN.splitlines(), key=len), "the hidden checks in q1h.py"),
    ("handout/handout.html", f"<p>{' <em>'.join(PHRASE)}", "a worked answer or a rubric"),
    ("README.md", f"see\n{GOLD[3]}", "answer to a test question"),
    ("src/a.py", json.dumps([GOLD[7].split("\t")]), "answer to a test question"),
    ("data/x.txt", "\n".join(PLACES), "in their order"),
    ("data/x.txt", "\n".join(f"{n}. {p.upper()}" for n, p in enumerate(PLACES)), "in their order"),
    ("data/x.csv", ",".join(reversed(GOLD[5][10:].split(" born?\t"))), "line 1: the name and the"),
    ("data/occupations/dev.tsv", f"{KEPT}\t0", "sentences that are kept for grading"),
    ("handout/handout.html", f"<td>{BY_HAND['weights'][1]}", "the solution in hand_attention.json"),
    ("x/hand_attention.json", as_json(BY_HAND | {"output": [[None]]}), "numbers in scores"),
    ("problem6/choices.toml", 'architecture = ""\nobjective = "causal-lm"\n', "line 2: a choice"),
    ("src/a.py", f"SEED = {EXERCISES}", "seed of a world"),
    ("src/a.py", f"SEED = {FULL:_}", "seed of a world"),
    ("data/README.md", f"drawn with {LAPTOP}.", "seed of a world"),
    ("src/a.ipynb", notebook("C:\\Users\\prof\\x"), "a user's folder"),
    ("src/a.ipynb", notebook(f"{ROOT}/src/files.py"), "a folder of this machine"),
    ("README.md", f"cd {Path.home()}/course", "this machine"),
    ("src/a.ipynb", notebook(f"C:\\Users\\{USER}\\x"), "the user of this machine"),
    ("src/a.py", "from instructor import grades", "under instructor/"),
    ("src/a.py", "# as instructor/checks does", "under instructor/"),
    ("src/a.py", "import instructor.checks", "under instructor/"),
    ("README.md", "`python -m instructor starter`", "under instructor/"),
]


@pytest.mark.parametrize(
    "name, text, expected", PLANTS, ids=[f"{name}: {expected}" for name, _, expected in PLANTS]
)
def test_a_leak_is_found(name, text, expected, secrets):
    found = leaks.find_leaks({name: text.encode()}, secrets)
    assert any(leak.startswith(name) and expected in leak for leak in found), found


def test_a_leak_in_a_zip_is_found(secrets):
    """As in src/checks/cases."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("1h-2-basic/0", f'{{"inputs": "{GOLD[3]}"}}')
    (found, *_) = leaks.find_leaks({"src/checks/cases/1h.zip": content.getvalue()}, secrets)
    assert "answer to a test question" in found


def test_a_commit_is_found(secrets):
    if not secrets.commits:
        pytest.skip("there is no git history here")
    (found,) = leaks.find_leaks({"a": f"version {min(secrets.commits)[:9]}".encode()}, secrets)
    assert "a commit of this repository" in found


def test_a_hidden_check_among_the_basic_ones_of_this_copy_is_found(secrets):
    """Lines that src/checks has count as shared; the function is recognized all the same."""
    shared = dataclasses.replace(secrets, lines={}, commits=frozenset(), places=())
    text = (ROOT / Q1H).read_text(encoding="utf-8")
    assert leaks.find_leaks({Q1H: text.encode()}, shared) == []
    (found,) = leaks.find_leaks({Q1H: (text + HIDDEN).encode()}, shared)
    assert "of the hidden checks in q1h.py" in found


@pytest.mark.parametrize(
    "name, text, found",
    [
        ("README.md", "made with seed = 7", True),
        ("x.toml", "cohort: 7", True),
        ("README.md", "seed 71 for 7 people", False),
        ("a.py", "seed = 7", False),
    ],
)
def test_small_seeds_are_found_beside_their_word(secrets, name, text, found):
    small = dataclasses.replace(secrets, seeds=(7,))
    assert bool(leaks.find_leaks({name: text.encode()}, small)) == found


def test_what_a_zip_has_besides_files_is_found(tmp_path):
    path = tmp_path / "x.zip"
    write_zip(path, [("a", b"1")])
    assert leaks.read_zip(path) == ({"a": b"1"}, [])
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"by me"
        entry = zipfile.ZipInfo("b")
        entry.comment = b"mine"
        archive.writestr(entry, b"2")
        with pytest.warns(UserWarning):
            archive.writestr("a", b"3")
    assert len(leaks.read_zip(path)[1]) == 3


# A cohort


def test_a_cohort_has_people_of_its_own_and_answers_away_from_students(cohort, built):
    tree, answers, seeds = cohort
    secret = {path.relative_to(answers).as_posix() for path in answers.rglob("*.tsv")}
    assert secret == {"birth_test.tsv", "laptop/birth_test.tsv", "occupations/test.tsv"}
    mine, shipped = build.read_tree(tree), build.read_tree(built[0])
    assert mine.keys() == shipped.keys()
    changed = {name for name in mine if mine[name] != shipped[name]}
    same = ("data/traces/", "data/README.md", "data/problem5.md", "data/problem6.md")
    of_world = {name for name in mine if name.startswith("data/") and not name.startswith(same)}
    assert changed == of_world | {f"src/{folder}/problem5/hand_attention.json" for folder in COPIES}
    for folder in ("", "laptop/"):
        rows = lines_of(answers / folder / "birth_test.tsv")
        asked = mine[f"data/{folder}birth_test_inputs.tsv"].decode().splitlines()
        assert [row.split("\t")[0] for row in rows] == asked
        text = mine[f"data/{folder}wiki.txt"].decode()
        assert all(re.search(rf"\b{row.split()[2]}\b", text) for row in rows)
    documents = str(len(mine["data/laptop/wiki.txt"].decode()))
    assert f"| {documents} |" in mine["data/problem1.md"].decode()
    assert len(set(seeds)) == 4 and COHORT in seeds


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def sentences(data, gold):
    """The sentences for training and development, and those that are kept for grading."""
    given = [lines_of(data / "occupations" / f"{split}.tsv") for split in ("train", "dev")]
    return *given, lines_of(gold / "occupations" / "test.tsv")


def test_a_cohort_has_exercises_of_its_own(cohort, built, tmp_path):
    """Other sentences; other matrices, blank in the starter; and the reference with these filled in
    has full points in 5a.
    """
    tree, answers, _ = cohort
    train, dev, test = sentences(tree / "data", answers)
    shipped = set().union(*sentences(built[0] / "data", GOLD_FOLDER))
    assert [len(train), len(dev), len(test)] == [2000, 500, 500]
    assert not {*train, *dev, *test} & shipped and not {*test} & {*train, *dev}
    matrices = json.loads((tree / "data" / "hand_attention.json").read_text(encoding="utf-8"))
    for folder in COPIES:
        starter = tree / "src" / folder / "problem5" / "hand_attention.json"
        assert starter.read_text(encoding="utf-8") == as_json(blank(matrices))
    mine = copy_reference(tmp_path / "mine")
    for solution, right in ((solve(matrices), True), (BY_HAND, False)):
        (mine / "problem5" / "hand_attention.json").write_text(as_json(solution), encoding="utf-8")
        report = smoke_test._grade(mine, tree, answers, manifest_of("5a"))
        assert report.score == (report.max_score if right else 0)
    assert "Q is not the course's" in report.outcomes["5a-0-basic"].details


def manifest_of(question):
    """The manifest with the checks of one question."""
    chosen = {check.id: check for check in WHOLE.checks.values() if check.question == question}
    return dataclasses.replace(WHOLE, checks=chosen)


@pytest.mark.full
def test_the_answers_and_seeds_of_a_cohort_do_not_leak(cohort):
    tree, answers, seeds = cohort
    secrets = known_secrets.gather_secrets(seeds, answers.rglob("*.tsv"))
    assert leaks.find_leaks(build.read_tree(tree), secrets) == []
    rows = lines_of(answers / "birth_test.tsv")
    sentence = lines_of(answers / "occupations" / "test.tsv")[9].partition("\t")[0]
    places = "\n".join(row.split("\t")[1] for row in rows[-12:])
    for text in (rows[0], sentence, places, *map(str, seeds)):
        assert leaks.find_leaks({"README.md": text.encode()}, secrets)


# Mistakes


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        *((name, "not an empty folder") for name in ("used", "file", "x --cohort 5 --gold used")),
        ("zipped", "already exists"),
        ("x.zip", "the zip is written beside it"),
        ("none/x", "not a folder"),
        *((f"x --{option}", "belong together") for option in ("cohort 5", "gold g")),
        *(
            (f"{out} --cohort 5 --gold {gold}", "must not be inside each other")
            for out, gold in (("x", "x"), ("e", "e/g"), ("e/x", "e"))
        ),
        ("x --title=", "no title"),
    ],
)
def test_mistakes_are_told_and_lose_nothing(tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    for name in ("used", "e"):
        (tmp_path / name).mkdir()
    for name in ("used/mine", "file", "zipped.zip"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=complaint):
        command("--no-proof", *arguments.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_starter_that_is_not_the_generator_s_is_not_released(tmp_path, monkeypatch):
    monkeypatch.setattr(release_command, "find_drift", lambda: ["- a line"])
    with pytest.raises(UserError, match="instructor starter"):
        command(tmp_path / "x", "--no-proof")
    assert not list(tmp_path.iterdir())


@pytest.mark.full
@pytest.mark.parametrize(
    "name, text, arguments, complaint",
    [
        ("notes.py", f"# {ROOT}\n", ["--no-proof"], "src/notes.py, line 1"),
        ("jobs/targets.py", "1 / 0\n", ["--cohort", COHORT, "--gold", "g"], "ZeroDivisionError"),
    ],
    ids=["a leak", "a command that fails"],
)
def test_a_release_that_is_wrong_leaves_nothing(
    tmp_path, monkeypatch, capsys, name, text, arguments, complaint
):
    """Also with a cohort, whose answers were made too."""
    make_tree = build.make_tree

    def spoil(tree, *rest):
        seeds = make_tree(tree, *rest)
        (tree / "src" / name).write_text(text, encoding="utf-8")
        return seeds

    monkeypatch.setattr(build, "make_tree", spoil)
    monkeypatch.chdir(tmp_path)
    assert command("x", *arguments) == 1
    printed = capsys.readouterr().err
    assert complaint in printed and "Nothing was written" in printed
    assert not list(tmp_path.iterdir())


# The proof


def test_a_release_that_is_stopped_leaves_nothing(tmp_path):
    words = "release --no-handout --no-proof".split()
    command = [sys.executable, "-m", "instructor", *words, str(tmp_path / "release")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, encoding="utf-8")
    while process.poll() is None and not list(tmp_path.glob(".release-*")):
        time.sleep(0.05)
    process.terminate()
    assert "Interrupted" in process.communicate(timeout=60)[1] and process.returncode == 130
    assert not list(tmp_path.iterdir())


def prove_spoiled(built, tmp_path, name, change):
    """Prove a release with one changed file."""
    files = leaks.read_zip(built[1])[0]
    path = f"transformer-assignment/{name}"
    files[path] = change(files[path].decode()).encode()
    write_zip(tmp_path / "spoiled.zip", files.items())
    smoke_test.prove(tmp_path / "spoiled.zip", WHOLE)


def test_a_command_that_the_readme_has_not_got_fails_the_proof(built, tmp_path):
    with pytest.raises(smoke_test.Failed, match="README does not have"):
        prove_spoiled(built, tmp_path, "README.md", lambda text: text.replace("run.sh help", "x"))


@pytest.mark.full
def test_a_starter_that_has_points_fails_the_proof(built, tmp_path, monkeypatch):
    monkeypatch.setattr(smoke_test, "commands", lambda manifest: ())
    solution = read("solution", "dataset.py")
    with pytest.raises(smoke_test.Failed, match="The starter scores"):
        prove_spoiled(built, tmp_path, "src/submission/dataset.py", lambda text: solution)


@pytest.mark.full
def test_a_reference_that_loses_points_fails_the_proof(built, tmp_path):
    for path in copy_reference(tmp_path / "mine").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("self.proj(y)", "y")
        path.write_text(text, encoding="utf-8")
    report = smoke_test._grade(tmp_path / "mine", built[0], None, manifest_of("1h"))
    with pytest.raises(smoke_test.Failed, match=r"It scores .*(\n.*)*wrong answer, 0 of"):
        smoke_test._require_full(report)


@pytest.mark.full
@pytest.mark.longest
def test_a_release_proves_itself(tmp_path, capsys):
    """The README's commands, the starter, the reference collected and graded."""
    assert command(tmp_path / "x", "--due", "Friday") == 0
    printed = capsys.readouterr().out
    assert "failed" not in printed
    assert len(re.findall(r"(?m)^  ok ", printed)) == len(smoke_test.commands(WHOLE)) + 4
    assert "**Due: Friday**" in (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "x.zip"]
    assert not list((tmp_path / "x").rglob("__pycache__"))
