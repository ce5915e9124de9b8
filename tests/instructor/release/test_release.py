"""The release: what students need and nothing else, the same bytes every time, and a smoke test of
it.
"""

import argparse
import getpass
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from autograder import read_manifest
from checks.support.cases import RELEASED
from checks.support.session import MANIFEST
from collect import write_zip
from common.files import UserError
from conftest import ROOT, SOLUTION, STARTER, copy_reference
from instructor.course import Course, read_course
from instructor.datasets.worlds.editions import EDITIONS, EXERCISES
from instructor.datasets.worlds.exercises import as_json, blank, solve
from instructor.release import build, known_secrets, leaks, smoke_test
from instructor.release import command as release_command
from instructor.release.starter import END, START
from instructor.release.student_texts import student_readme
from run import build_parser

COHORT = 987654321012
COURSE = Course("A title", "A course", "a day", "# Explain,\n\nand ask back.\n")


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


def test_it_has_what_students_need_and_nothing_else(built):
    names = build.read_tree(built[0]).keys()
    assert {name.split("/")[0] for name in names} == {
        "README.md",
        "LICENSE",
        ".gitattributes",
        "run.sh",
        "run.bat",
        "environment.yml",
        "requirements.lock",
        "pyproject.toml",
        "course.toml",
        "AGENTS.md",
        "data",
        "src",
        "collect_submission.sh",
        "collect_submission.bat",
        ".github",
        ".gitignore",
        "slurm.sbatch",
        "train_on_gpu.ipynb",
        "docs",
    }
    assert [name for name in names if name.startswith("docs")] == ["docs/running.md"]
    assert {path.relative_to(ROOT).as_posix() for path in STARTER.rglob("*.py")} == {
        name for name in names if re.fullmatch(r"src/submission/.+\.py", name)
    }
    assert {
        "data/wiki.txt",
        "data/laptop/birth_test_inputs.tsv",
        "src/launch.py",
        "src/checks/manifest.toml",
        "src/checks/given/model.py",
        "src/submission/mingpt-demo/play_char.ipynb",
        "src/submission/problem5/hand_attention.json",
        "src/checks/given/problem5/hand_attention.json",
        "src/submission/problem6/choices.toml",
        "data/hand_attention.json",
        "data/occupations/train.tsv",
        "data/occupations/dev.tsv",
    } <= names
    assert not [
        name
        for name in names - {".gitattributes", ".gitignore", ".github/workflows/basic-checks.yml"}
        if name.startswith(("instructor", "tests", ".")) or "gold" in name or "__pycache__" in name
    ]


def test_files_that_git_does_not_track_stay_here(tmp_path, monkeypatch):
    for name in ("src/a.py", "src/mine.py", "src/result.txt", "src/.b.py", "instructor/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(build, "ROOT", tmp_path)
    # a copy without history
    assert set(build.released_files()) == {"src/a.py", "src/mine.py", *build.FILES}
    for words in (["init", "-q"], ["add", "src/a.py", "src/result.txt", "src/.b.py", "instructor"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert set(build.released_files()) == {"src/a.py", *build.FILES}
    (tmp_path / "src" / "checks").mkdir()
    (tmp_path / "src" / "checks" / "q2a.py").touch()  # which a release without it would miss
    with pytest.raises(UserError, match="src/checks/q2a.py.*git add"):
        build.released_files()


def test_the_readme_is_that_of_students(built):
    readme = (built[0] / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# A title\n\nA course\n\n**Due: a day**\n\n")
    assert "## 1. Environment" in readme and "./collect_submission.sh" in readme
    assert "instructor" not in readme.lower() and "python -m" not in readme
    assert "| 1c | Span corruption | `dataset.py` |" in readme and "<!--" not in readme
    assert "[docs/running.md](docs/running.md)" in readme


def test_what_is_said_of_machines_fits_the_release(built):
    """Its links lead somewhere, and what it tells to type is there."""
    path = built[0] / "docs" / "running.md"
    text = path.read_text(encoding="utf-8")
    assert "<!--" not in text and "./run.sh dashboard" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((path.parent / link).is_file() for link in links)
    options = {*re.findall(r"`[^`\n]*?\./run\.sh [^`]*`|`--[^`]*`", text)}
    known = build_parser()._option_string_actions
    for option in re.findall(r"--[a-z-]+", " ".join(options)):
        assert option in known or option in ("--shm-size", "--version"), option


def test_assistants_are_told_how_to_help(built, tmp_path):
    assert (built[0] / "AGENTS.md").read_text(encoding="utf-8") == COURSE.assistants
    build.make_tree(tmp_path / "tree", Course("A title"))
    assert not (tmp_path / "tree" / "AGENTS.md").exists()
    ours = read_course().assistants
    assert "START_CODE_HERE" in ours and "Never write" in ours and "src/grader.py ID" in ours


def test_links_that_lead_nowhere_become_text():
    guide = "# x\n\n[a](../data/README.md), [b](b.md), ![c](../c.png), [d](https://d.org/x).\n"
    text = student_readme(guide, Course("T"), {"data/README.md"})
    assert text == "# T\n\n[a](data/README.md), b, c, [d](https://d.org/x).\n"


def test_settings_of_the_course_are_in_it(built):
    assert read_course(built[0] / "course.toml") == COURSE
    project = tomllib.loads((built[0] / "pyproject.toml").read_text(encoding="utf-8"))
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert (
        project["project"]["dependencies"] == ours["project"]["dependencies"]
        and "build-system" in project
    )
    assert "optional-dependencies" not in project["project"] and "pytest" not in project["tool"]


def test_settings_of_the_course(tmp_path):
    path = tmp_path / "course.toml"
    odd = Course('A "title" \\ with # 日本', "", "23:59")
    path.write_text(odd.as_toml(), encoding="utf-8")
    assert read_course(path) == odd and read_course(path, due="later", course=None) == Course(
        odd.title, "", "later"
    )
    for text, complaint in (
        ("title = 1", "line of text"),
        ("title = 'a'\nassistants = 1", "assistants should be text"),
        ("title = ' '", "no title"),
        ("course = 'x'", "nothing else"),
        ("title = 'a'\nteacher = 'b'", "teacher"),
        ("title", "nothing else"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=complaint):
            read_course(path)
    with pytest.raises(UserError, match="--due"):
        read_course(due="two\nlines")


def test_the_tests_of_the_project_are_told_not_to_be_there(built):
    process = subprocess.run(
        [str(built[0] / "run.sh"), "test"], capture_output=True, encoding="utf-8"
    )
    assert (
        process.returncode == 2
        and "not part of this copy" in process.stderr
        and "\n" not in process.stderr.strip()
    )


@pytest.mark.full
def test_the_same_bytes_every_time(built, tmp_path):
    """With another umask, time zone, language, day and name of OUT."""
    code = (
        "import argparse, os, sys; os.umask(0o077); sys.path.insert(0, sys.argv[1]); from "
        "instructor.release import command as release;p = argparse.ArgumentParser(); "
        "release.add_parser(p.add_subparsers()); a = p.parse_args(sys.argv[2:]); sys.exit(a.run(a))"
    )
    out = tmp_path / "other"
    options = [
        "--no-handout",
        "--no-proof",
        "--title",
        COURSE.title,
        "--course",
        COURSE.course,
        "--due",
        COURSE.due,
    ]
    process = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), "release", str(out), *options],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"},
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "other.zip").read_bytes() == built[1].read_bytes() and build.read_tree(
        out
    ) == build.read_tree(built[0])
    for path in [out, *out.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (
            0o755 if path.is_dir() or path.suffix == ".sh" else 0o644
        ), path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "other.zip"]
    with zipfile.ZipFile(built[1]) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {entry.filename.split("/")[0] for entry in entries} == {"transformer-assignment"}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {
        entry.filename: entry.external_attr >> 16
        for entry in entries
        if entry.external_attr >> 16 != 0o100644
    } == {
        "transformer-assignment/run.sh": 0o100755,
        "transformer-assignment/collect_submission.sh": 0o100755,
    }


def test_line_ends_do_not_depend_on_this_system():
    for raw in (b"a\nb\n", b"a\r\nb\r\n"):
        assert build._line_ends(Path("x.py"), raw) == b"a\nb\n"
        assert build._line_ends(Path("x.bat"), raw) == b"a\r\nb\r\n"
    for name in ("x.pdf", "x.npz"):
        assert build._line_ends(Path(name), b"a\r\nb") == b"a\r\nb"


def test_the_cases_are_those_of_the_repository(built):
    for path in RELEASED.iterdir():
        assert (
            built[0] / "src" / "checks" / "cases" / path.name
        ).read_bytes() == path.read_bytes(), path.name


def test_all_is_given_its_name_or_nothing(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "c").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        release_command._publish(
            [(tmp_path / "a", tmp_path / "c"), (tmp_path / "b", tmp_path / "nowhere" / "d")]
        )
    assert (tmp_path / "a").is_dir() and (tmp_path / "b").is_dir() and not (tmp_path / "c").exists()
    release_command._publish([(tmp_path / "a", tmp_path / "c"), (tmp_path / "b", tmp_path / "d")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "d"]


# Leaks


def test_nothing_leaks(built, secrets):
    assert leaks.find_leaks(build.read_tree(built[0]), secrets) == []
    files, problems = leaks.read_zip(built[1])
    assert problems == [] and len(files) == len(build.read_tree(built[0]))


def body_of(name):
    """The longest line between the solution's markers in a file."""
    bodies = re.findall(
        f"{START}(.*?){END}", (SOLUTION / name).read_text(encoding="utf-8"), re.DOTALL
    )
    return max((line.strip() for line in "\n".join(bodies).splitlines()), key=len)


def hidden_function():
    """A function of the hidden checks, and the lines of it that are not there in basic ones left
    out.
    """
    text = (ROOT / "instructor" / "checks" / "problem1" / "q1h" / "q1h.py").read_text(
        encoding="utf-8"
    )
    return max(re.findall(r"^def .*?(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE), key=len)


def gold(folder="laptop"):
    return (
        (ROOT / "instructor" / "gold" / folder / "birth_test.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )


def kept():
    return (
        (ROOT / "instructor" / "gold" / "occupations" / "test.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )


def by_hand():
    return json.loads((SOLUTION / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))


def commit():
    process = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, encoding="utf-8"
    )
    if process.returncode:
        pytest.skip("there is no git history here")
    return process.stdout.strip()


def notebook(text):
    return json.dumps(
        {"cells": [{"source": [], "outputs": [{"data": {"text/plain": ["1\n", "  " + text]}}]}]}
    )


PLANTS = {
    "a folder's name": lambda: ("instructor/x.py", "", "instructor"),
    "a file's name": lambda: ("src/checks/q1c_hidden.py", "", "q1c_hidden.py"),
    "a gold file's name": lambda: ("data/birth_test.tsv", "", "birth_test.tsv"),
    "weights": lambda: ("src/submission/rope.finetune.params", "", "rope.finetune.params"),
    "git": lambda: (".git/config", "", ".git"),
    "a line of the solution": lambda: (
        "src/jobs/presets.py",
        "x = 1\n\n    " + body_of("attention.py"),
        "line 3: a line of the solution in attention.py",
    ),
    "the same as a comment": lambda: (
        "src/submission/helper.py",
        "# " + body_of("helper.py"),
        "the solution in helper.py",
    ),
    "the same in a notebook": lambda: (
        "src/a.ipynb",
        notebook(body_of("dataset.py")),
        "the solution in dataset.py",
    ),
    "a line of a hidden check": lambda: (
        "src/checks/problem1/q1h/q1h.py",
        max(hidden_function().splitlines(), key=len),
        "the hidden checks in q1h.py",
    ),
    "a worked answer": lambda: (
        "handout/handout.html",
        "<p>" + " <em>".join(max(known_secrets._phrases(known_secrets.WRITTEN_ANSWERS))),
        "a worked answer or a rubric",
    ),
    "an answer": lambda: ("README.md", "see\n" + gold()[3], "answer to a test question"),
    "an answer written otherwise": lambda: (
        "src/a.py",
        json.dumps(dict(row.split("\t") for row in gold(".")[7:8])),
        "answer to a test question",
    ),
    "answers alone": lambda: (
        "data/x.txt",
        "\n".join(row.split("\t")[1] for row in gold()[10:25]),
        "in their order",
    ),
    "answers with numbers, in capitals": lambda: (
        "data/x.txt",
        "\n".join(f"{n}. {row.split(chr(9))[1].upper()}" for n, row in enumerate(gold()[10:25])),
        "in their order",
    ),
    "a table of names and places": lambda: (
        "data/x.csv",
        "{1},{0}".format(*re.fullmatch(r"Where was (.*) born\?\t(.*)", gold()[5]).groups()),
        "line 1: the name and the birth place",
    ),
    "sentences kept for grading": lambda: (
        "data/occupations/dev.tsv",
        kept()[7].partition("\t")[0] + "\t0",
        "sentences that are kept for grading",
    ),
    "a gold file of them": lambda: ("data/occupations/test.tsv", "", "test.tsv"),
    "a gold file of traces": lambda: ("data/traces.json.gz", "", "traces.json.gz"),
    "a solution by hand": lambda: (
        "handout/handout.html",
        "<td>" + json.dumps(by_hand()["weights"][1]),
        "the solution in hand_attention.json",
    ),
    "numbers filled in": lambda: (
        "src/submission/problem5/hand_attention.json",
        as_json(by_hand() | {"weights": [], "output": [[None]]}),
        "numbers in scores",
    ),
    "choices made": lambda: (
        "src/submission/problem6/choices.toml",
        '[chatbot]\narchitecture = ""\nobjective = "causal-lm"\n',
        "line 3: a choice",
    ),
    "weights of the encoder": lambda: ("src/submission/encoder.params", "", "encoder.params"),
    "the seed of the exercises": lambda: ("src/a.py", f"SEED = {EXERCISES}", "seed of a world"),
    "another folder's name": lambda: ("src/solutions/x.py", "", "solutions"),
    "a name in another style": lambda: ("src/checks/q1cHidden.py", "", "q1cHidden.py"),
    "somebody's folder": lambda: ("src/a.ipynb", notebook("C:\\Users\\prof\\x"), "a user's folder"),
    "an import of instructor": lambda: (
        "src/a.py",
        "from instructor import grades",
        "under instructor/",
    ),
    "a world's seed": lambda: ("src/a.py", f"SEED = {EDITIONS['full'][0]:_}", "seed of a world"),
    "the other's": lambda: (
        "data/README.md",
        f"drawn with {EDITIONS['laptop'][0]}.",
        "seed of a world",
    ),
    "this folder": lambda: (
        "src/a.ipynb",
        notebook(f"{ROOT}/src/files.py"),
        "a folder of this machine",
    ),
    "the home folder": lambda: ("README.md", f"cd {Path.home()}/course", "this machine"),
    "the user": lambda: (
        "src/a.ipynb",
        notebook(f"C:\\Users\\{getpass.getuser()}\\x"),
        "the user of this machine",
    ),
    "a place under instructor": lambda: (
        "src/a.py",
        "# as instructor/checks does",
        "under instructor/",
    ),
    "a module of instructor": lambda: ("src/a.py", "import instructor.checks", "under instructor/"),
    "a command of instructors": lambda: (
        "README.md",
        "`python -m instructor starter`",
        "under instructor/",
    ),
    "a commit": lambda: ("README.md", f"version {commit()[:9]}", "a commit of this repository"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_leak_is_found(plant, built, secrets):
    name, text, expected = PLANTS[plant]()
    found = leaks.find_leaks({name: text.encode()}, secrets)
    assert (
        found
        and all(leak.startswith(name) for leak in found)
        and any(expected in leak for leak in found)
    ), found


def test_a_hidden_check_among_the_basic_ones_of_this_copy_is_found(secrets):
    """Lines that src/checks has count as shared; the function is recognized all the same."""
    shared = known_secrets.Secrets(
        {},
        frozenset(),
        secrets.functions,
        *(type(value)() for value in list(vars(secrets).values())[3:]),
    )
    text = (ROOT / "src" / "checks" / "problem1" / "q1h" / "q1h.py").read_text(encoding="utf-8")
    assert leaks.find_leaks({"src/checks/problem1/q1h/q1h.py": text.encode()}, shared) == []
    found = leaks.find_leaks(
        {"src/checks/problem1/q1h/q1h.py": (text + hidden_function()).encode()}, shared
    )
    assert len(found) == 1 and "of the hidden checks in q1h.py" in found[0]


def test_small_seeds_are_found_beside_their_word():
    secrets = known_secrets.gather_secrets([7])
    assert leaks.find_leaks({"README.md": b"made with seed = 7"}, secrets) and leaks.find_leaks(
        {"x.toml": b"cohort: 7"}, secrets
    )
    assert not leaks.find_leaks(
        {"README.md": b"seed 71 for 7 people", "a.py": b"seed = 7"}, secrets
    )


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
    assert sorted(path.relative_to(answers).as_posix() for path in answers.rglob("*.tsv")) == [
        "birth_test.tsv",
        "laptop/birth_test.tsv",
        "occupations/test.tsv",
    ]
    mine, shipped = build.read_tree(tree), build.read_tree(built[0])
    assert mine.keys() == shipped.keys()
    changed = {name for name in mine if mine[name] != shipped[name]}
    of_world = {name for name in mine if name.startswith("data/") and "/traces/" not in name}
    assert changed == of_world | {
        f"src/{folder}/problem5/hand_attention.json" for folder in ("submission", "checks/given")
    }
    for folder in ("", "laptop/"):
        rows = (answers / folder / "birth_test.tsv").read_text(encoding="utf-8").splitlines()
        assert [row.split("\t")[0] for row in rows] == mine[
            f"data/{folder}birth_test_inputs.tsv"
        ].decode().splitlines()
        text = mine[f"data/{folder}wiki.txt"].decode()
        assert all(re.search(rf"\b{row.split()[2]}\b", text) for row in rows)
    documents = str(len(mine["data/laptop/wiki.txt"].decode()))
    assert f"| {documents} |" in mine["data/README.md"].decode()
    assert len(set(seeds)) == 4 and COHORT in seeds


def test_a_cohort_has_exercises_of_its_own(cohort, built, tmp_path):
    """Other sentences; other matrices, blank in the starter; and the reference with these filled in
    has full points in 5a.
    """
    tree, answers, _ = cohort
    mine = {
        split: (folder / "occupations" / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
        for split, folder in (("train", tree / "data"), ("dev", tree / "data"), ("test", answers))
    }
    shipped = {
        line
        for path in built[0].glob("data/occupations/*.tsv")
        for line in path.read_text(encoding="utf-8").splitlines()
    } | set(kept())
    assert [len(lines) for lines in mine.values()] == [
        2000,
        500,
        500,
    ] and not shipped & set().union(*mine.values())
    assert not set(mine["test"]) & {*mine["train"], *mine["dev"]}

    matrices = json.loads((tree / "data" / "hand_attention.json").read_text(encoding="utf-8"))
    for folder in ("submission", "checks/given"):
        assert (tree / "src" / folder / "problem5" / "hand_attention.json").read_text(
            encoding="utf-8"
        ) == as_json(blank(matrices))
    copy_reference(tmp_path / "mine")
    for solution, right in ((solve(matrices), True), (by_hand(), False)):
        (tmp_path / "mine" / "problem5" / "hand_attention.json").write_text(
            as_json(solution), encoding="utf-8"
        )
        report = smoke_test._grade(tmp_path / "mine", tree, answers, results=False, names=["5a"])
        assert report.score == (report.max_score if right else 0)
    assert "has a different Q" in report.outcomes["5a-0-basic"].hints[0]


@pytest.mark.full
def test_the_answers_and_seeds_of_a_cohort_do_not_leak(cohort):
    tree, answers, seeds = cohort
    secrets = known_secrets.gather_secrets(seeds, answers.rglob("*.tsv"))
    assert leaks.find_leaks(build.read_tree(tree), secrets) == []
    rows = (answers / "birth_test.tsv").read_text(encoding="utf-8").splitlines()
    sentence = (
        (answers / "occupations" / "test.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[9]
        .partition("\t")[0]
    )
    for text in (
        rows[0],
        sentence,
        "\n".join(row.split("\t")[1] for row in rows[-12:]),
        *map(str, seeds),
    ):
        assert leaks.find_leaks({"README.md": text.encode()}, secrets)


def test_another_cohort_is_another_world():
    seeds = {
        build.cohort_seed(cohort, size)
        for cohort in (0, 1, 2, -1, 10**30)
        for size in [*EDITIONS, "exercises"]
    }
    assert len(seeds) == 15


# Mistakes


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["used"], "not an empty folder"),
        (["file"], "not an empty folder"),
        (["zipped"], "already exists"),
        (["x.zip"], "the zip is written beside it"),
        (["none/x"], "not a folder"),
        (["x", "--cohort", "5"], "belong together"),
        (["x", "--gold", "g"], "belong together"),
        (["x", "--cohort", "5", "--gold", "x"], "must not be inside each other"),
        (["e", "--cohort", "5", "--gold", "e/g"], "must not be inside each other"),
        (["e/x", "--cohort", "5", "--gold", "e"], "must not be inside each other"),
        (["x", "--cohort", "5", "--gold", "used"], "not an empty folder"),
        (["x", "--due", "a\nb"], "line of text"),
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
        command(*arguments, "--no-proof")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_starter_that_is_not_the_generator_s_is_not_released(tmp_path, monkeypatch):
    monkeypatch.setattr(release_command, "find_drift", lambda: ["- a line"])
    with pytest.raises(UserError, match="instructor starter"):
        command(tmp_path / "x", "--no-proof")
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_a_leak_stops_a_release(tmp_path, monkeypatch, capsys):
    make_tree = build.make_tree

    def leaking(tree, *rest):
        seeds = make_tree(tree, *rest)
        (tree / "src" / "notes.py").write_text(f"# {ROOT}\n", encoding="utf-8")
        return seeds

    monkeypatch.setattr(build, "make_tree", leaking)
    assert command(tmp_path / "x", "--no-proof") == 1
    assert "src/notes.py, line 1" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.full
def test_a_failed_proof_leaves_nothing(tmp_path, monkeypatch, capsys):
    """Also with a cohort, whose answers were made too."""
    make_tree = build.make_tree

    def broken(tree, *rest):
        seeds = make_tree(tree, *rest)
        (tree / "src" / "jobs" / "targets.py").write_text("1 / 0\n", encoding="utf-8")
        return seeds

    monkeypatch.setattr(build, "make_tree", broken)
    # test_pasting.py tries that
    monkeypatch.setattr("instructor.release.pasting.answers.find_answering", lambda *_: [])
    assert command(tmp_path / "x", "--cohort", COHORT, "--gold", tmp_path / "g") == 1
    captured = capsys.readouterr()
    assert "failed" in captured.out and "./run.sh help" in captured.out
    assert (
        "ZeroDivisionError" in captured.err
        and "Nothing was written" in captured.err
        and not list(tmp_path.iterdir())
    )


# The proof


def test_filling_is_the_inverse_of_stripping():
    for path in SOLUTION.rglob("*.py"):
        solution = path.read_text(encoding="utf-8")
        assert (
            smoke_test.fill(
                (STARTER / path.relative_to(SOLUTION)).read_text(encoding="utf-8"), solution
            )
            == solution
        )
    with pytest.raises(smoke_test.Failed):
        smoke_test.fill("", f"    {START}\n    pass\n    {END}\n")


def spoiled(built, tmp_path, name, change):
    """The zip of a release with one changed file."""
    files = {**leaks.read_zip(built[1])[0]}
    path = f"transformer-assignment/{name}"
    files[path] = change(files[path].decode()).encode()
    write_zip(tmp_path / "spoiled.zip", files.items())
    return tmp_path / "spoiled.zip"


def test_a_command_that_the_readme_has_not_got_fails_the_proof(built, tmp_path):
    archive = spoiled(
        built, tmp_path, "README.md", lambda text: text.replace("./run.sh help", "./run.sh")
    )
    with pytest.raises(smoke_test.Failed, match="README does not have"):
        smoke_test.prove(archive, None)


@pytest.mark.full
def test_a_starter_that_has_points_fails_the_proof(built, tmp_path, monkeypatch):
    monkeypatch.setattr(smoke_test, "commands", lambda manifest: ())
    archive = spoiled(
        built,
        tmp_path,
        "src/submission/dataset.py",
        lambda text: smoke_test.fill(text, (SOLUTION / "dataset.py").read_text(encoding="utf-8")),
    )
    with pytest.raises(smoke_test.Failed, match="The starter scores"):
        smoke_test.prove(archive, None)


@pytest.mark.full
def test_a_reference_that_loses_points_fails_the_proof(built, tmp_path):
    for path in copy_reference(tmp_path / "mine").rglob("*.py"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("self.proj(y)", "y"), encoding="utf-8"
        )
    report = smoke_test._grade(tmp_path / "mine", built[0], None, results=False)
    with pytest.raises(smoke_test.Failed, match=r"It scores .*(\n.*)*wrong answer, 0 of"):
        smoke_test._require_full(report)


@pytest.mark.full
@pytest.mark.longest
def test_a_release_proves_itself(tmp_path, capsys):
    """With all of it: no released function answers a question; the README's commands, the starter,
    the reference collected and graded.
    """
    assert command(tmp_path / "x", "--due", "Friday") == 0
    printed = capsys.readouterr().out
    assert (
        "failed" not in printed
        and len(re.findall(r"^  ok ", printed, re.MULTILINE))
        == len(smoke_test.commands(read_manifest(MANIFEST))) + 4
    )
    assert "**Due: Friday**" in (tmp_path / "x" / "README.md").read_text(
        encoding="utf-8"
    ) and sorted(path.name for path in tmp_path.iterdir()) == ["x", "x.zip"]
    assert not list((tmp_path / "x").rglob("__pycache__"))
