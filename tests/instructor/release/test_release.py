"""The release: what students need and nothing else, the same bytes, and its proof."""

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml

import grader
from autograder import read_manifest
from checks.support.session import MANIFEST
from collect import DELIVERABLES, write_zip
from common.files import UserError
from helpers import ROOT, SOLUTION, STARTER, call, copy_reference, wait_until
from instructor import __main__ as program
from instructor.checks.solving import all_questions
from instructor.course import Course, read_course
from instructor.datasets.worlds.exercises import as_json, blank, solve
from instructor.grading.gradescope import build as gradescope
from instructor.release import build, known_secrets, leaks, smoke_test, starter
from jobs.targets import JOBS, MADE_BY, TARGETS
from run import build_parser

COHORT = 987654321012
WHOLE = read_manifest(MANIFEST)
COPIES = ("submission", "checks/given")  # folders of src/ with the starter
COURSE = dataclasses.replace(read_course(), title='A "title" \\ with # 日本', due="23:59")


def command(*arguments, **where):
    """Run the command in this process. (test_handout.py tests releases with a handout.)"""
    return call(program.main, "release", "--no-handout", *arguments, **where)


@pytest.fixture(scope="module")
def files():
    return build.release_files(COURSE, {})


@pytest.fixture(scope="module")
def tree(files, tmp_path_factory):
    tree = tmp_path_factory.mktemp("release") / "tree"
    build.write_tree(files, tree)
    return tree


@pytest.fixture(scope="module")
def cohort(files, tmp_path_factory):
    mine, gold = dict(files), tmp_path_factory.mktemp("cohort") / "gold"
    return mine, gold, build.draw_cohort(mine, COHORT, gold)


TOP = """
    .devcontainer .gitattributes .github .gitignore .vscode AGENTS.md CLAUDE.md LICENSE README.md
    collect_submission.bat
    collect_submission.sh course.toml data docs environment.yml pyproject.toml requirements.lock
    run.bat run.sh slurm.sbatch src train_on_gpu.ipynb
"""
DATA = "wiki.txt laptop/birth_test_inputs.tsv hand_attention.json occupations/train.tsv"


def test_it_has_what_students_need_and_nothing_else(files, tree):
    assert sorted({name.split("/")[0] for name in files}) == sorted(TOP.split())
    assert [name for name in files if name.startswith("docs")] == ["docs/running.md"]
    mine = {name for name in files if re.fullmatch(r"src/submission/.+\.py", name)}
    assert {path.relative_to(ROOT).as_posix() for path in STARTER.rglob("*.py")} == mine
    assert {*(f"data/{name}" for name in DATA.split()), "src/checks/given/model.py"} <= {*files}
    assert build.tracked_files(["src"], ()) <= {*files}, "what jobs read lies beside them"
    assert {f"src/checks/cases/{question}.zip" for question in all_questions()} <= {*files}
    assert not [name for name in files if "gold" in name or "__pycache__" in name]
    done = subprocess.run([tree / "run.sh", "test"], capture_output=True, encoding="utf-8")
    assert done.returncode == 2 and "tests are not part" in done.stderr


def test_files_that_git_does_not_track_stay_here(tmp_path, monkeypatch):
    """Nor in the upload autograder's zip: what is missing there would be missed in a grade."""
    for name in "src/a.py src/mine.py src/result.txt src/.b.py instructor/checks/c.py".split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for module in (build, gradescope):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    assert set(build.released_files()) == {"src/a.py", "src/mine.py", *build.FILES}
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "src/a.py", "src/result.txt", "src/.b.py", "instructor")
    assert set(build.released_files()) == {"src/a.py", *build.FILES}
    with pytest.raises(UserError, match="does not track src/mine.py.*git add"):
        gradescope.sources()
    (tmp_path / "src" / "mine.py").unlink()
    packed = {name for name in gradescope.sources() if "/given/" not in name}
    assert packed == {"instructor/checks/c.py", "src/a.py", "src/.b.py"}
    (tmp_path / "src" / "checks").mkdir()
    (tmp_path / "src" / "checks" / "q2a.py").touch()  # which a release without it would miss
    with pytest.raises(UserError, match="src/checks/q2a.py.*git add"):
        build.released_files()


def test_its_documents_and_settings_are_for_students(files, tree):
    readme, text = (files[name].decode() for name in ("README.md", "docs/running.md"))
    assert all(part in readme for part in (COURSE.title, COURSE.course, COURSE.due))
    assert "instructor" not in readme.lower() and "<!--" not in readme + text
    for name in ("README.md", "docs/running.md", "data/README.md", "data/problem1.md"):
        document = tree / name
        links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
        assert all((document.parent / link).is_file() for link in links), name
    typed = " ".join(re.findall(r"`[^`\n]*?\./run\.sh [^`]*`|`--[^`]*`", text))
    known = {*re.findall("--[a-z-]+", build_parser().format_help()), "--shm-size", "--version"}
    assert {*re.findall(r"--[a-z-]+", typed)} <= known
    assert {files[name].decode() for name in build.ASSISTANTS} == {COURSE.assistants}
    assert not {*build.ASSISTANTS} & build.release_files(Course("A title"), {}).keys()
    (shown,) = json.loads(files[".vscode/settings.json"])["python.testing.pytestArgs"]
    assert (tree / shown / "conftest.py").is_file()
    assert read_course(tree / "course.toml") == COURSE
    mine = tomllib.loads(files["pyproject.toml"].decode())
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert mine["project"]["dependencies"] == ours["project"]["dependencies"]
    assert "optional-dependencies" not in mine["project"] and "pytest" not in mine["tool"]


@pytest.mark.full
def test_the_same_bytes_every_time(tmp_path):
    """With another umask, time zone, language, day and name of OUT."""
    out, typed = tmp_path / "other", os.path.relpath(tmp_path / "other", ROOT)
    code = "import os, sys; os.umask(0o077); from instructor.__main__ import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "release", typed, "--no-handout", "--no-proof"]
    other = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    printed = subprocess.check_output(words, cwd=ROOT, env=other, encoding="utf-8")
    assert f"Wrote {typed} and {typed}.zip (" in printed
    mine = build.release_files(read_course(), {})
    build.write_archive(mine, tmp_path / "mine.zip")
    assert (tmp_path / "other.zip").read_bytes() == (tmp_path / "mine.zip").read_bytes()
    assert build.read_tree(out) == mine
    for path in [out, *out.rglob("*")]:
        mode = 0o755 if path.is_dir() or path.suffix == ".sh" else 0o644
        assert path.stat().st_mode & 0o777 == mode, path
    with zipfile.ZipFile(tmp_path / "other.zip") as archive:
        zipped = {name: archive.read(name) for name in archive.namelist()}
        entries = archive.infolist()
    assert zipped == {f"transformer-assignment/{name}": mine[name] for name in mine}
    assert not archive.comment and not any(entry.comment or entry.extra for entry in entries)
    assert [entry.filename for entry in entries] == sorted(zipped)
    programs = [entry.filename for entry in entries if entry.external_attr >> 16 == 0o100755]
    assert [name.split("/")[1] for name in programs] == ["collect_submission.sh", "run.sh"]


def git(tree, *words):
    """What git prints without the user's own settings, by which it may ignore more."""
    own = os.environ | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *words], cwd=tree, env=own, capture_output=True)
    return done.stdout.decode()


@pytest.mark.usefixtures("warm")
def test_the_workflow_has_few_rights_and_its_command_works(tree, tmp_path):
    workflow = yaml.safe_load((tree / build.WORKFLOW).read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert 0 < job["timeout-minutes"] <= 30
    assert job["steps"][0]["with"] == {"persist-credentials": False}
    paths = [path.removesuffix("/**") for path in workflow[True]["push"]["paths"]]  # True: on
    assert "src" in paths and all((tree / path).exists() for path in paths)
    (line,) = (step["run"] for step in job["steps"] if "run" in step)
    words = shlex.split(line.replace("$GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md")))
    assert words[:4] == ["bash", "run.sh", "python", "src/grader.py"]
    starter = tree / "src" / "submission"
    process = call(grader.main, *words[4:], "5a", "--submission", starter, cwd=tree)
    assert process.returncode == 0, process.stdout
    assert "## Points: 0 of" in (tmp_path / "summary.md").read_text(encoding="utf-8")


MADE = """
    submission.zip .venv .venv.lock .venv.old/complete src/run/__pycache__/a.pyc
    src/submission/vanilla.pretrain.ckpt src/submission/runs/vanilla.pretrain.ckpt.json
    src/submission/runs/vanilla_pretrain.log src/submission/a.params.tmp demo/x
    elsewhere/vanilla.model.params results-of-my-copy/a.log kept/gpu/a.params for_gpu.zip
    results-gpu.zip all.log slurm-12.log nohup.out
"""


def test_what_is_released_and_handed_in_is_committed_and_what_is_made_is_not(tree):
    git(tree, "init", "-q")
    git(tree, "add", "--all")
    assert git(tree, "ls-files", "README.md") and not git(tree, "ls-files", "--others")
    records = [f"runs/{job.writes}.json" for job in JOBS.values()]
    kept = [f"src/submission/{name}" for name in (*DELIVERABLES, *records)]
    kept += ["handout/submission.pdf", "handout/submission.tex"]
    written = [target.writes for target in TARGETS.values() if target.writes]
    made = [f"src/submission/{name}" for name in written if name.split("/")[-1] not in MADE_BY]
    made += MADE.split()
    assert git(tree, "check-ignore", "--no-index", *kept, *made).split() == made
    told = git(tree, "check-attr", "eol", "run.sh", "collect_submission.bat")
    assert told == "run.sh: eol: lf\ncollect_submission.bat: eol: crlf\n"


def test_a_cohort_has_people_of_its_own_and_answers_away_from_students(cohort, files):
    mine, answers, seeds = cohort
    secret = {path.relative_to(answers).as_posix() for path in answers.rglob("*.tsv")}
    assert secret == {"birth_test.tsv", "laptop/birth_test.tsv", "occupations/test.tsv"}
    assert mine.keys() == files.keys()
    changed = {name for name in mine if mine[name] != files[name]}
    same = ("data/traces/", "data/README.md", "data/problem5.md", "data/problem6.md")
    of_world = {name for name in mine if name.startswith("data/") and not name.startswith(same)}
    assert changed == of_world | {f"src/{folder}/problem5/hand_attention.json" for folder in COPIES}
    for folder in ("", "laptop/"):
        rows = lines_of(answers / folder / "birth_test.tsv")
        asked = mine[f"data/{folder}birth_test_inputs.tsv"].decode().splitlines()
        assert [row.split("\t")[0] for row in rows] == asked
        text = mine[f"data/{folder}wiki.txt"].decode()
        assert all(re.search(rf"\b{row.split()[2]}\b", text) for row in rows)
    assert f"| {len(text)} |" in mine["data/problem1.md"].decode()
    assert len(set(seeds)) == 4 and COHORT in seeds
    train, dev, test = sentences(mine, answers)
    shipped = set().union(*sentences(files, ROOT / "instructor" / "gold"))
    assert [len(train), len(dev), len(test)] == [2000, 500, 500]
    assert not {*train, *dev, *test} & shipped and not {*test} & {*train, *dev}


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def sentences(files, gold):
    given = (files[f"data/occupations/{split}.tsv"].decode() for split in ("train", "dev"))
    return *map(str.splitlines, given), lines_of(gold / "occupations" / "test.tsv")


def test_a_cohort_has_matrices_of_its_own(cohort, tmp_path):
    mine, answers, _ = cohort
    matrices = json.loads(mine["data/hand_attention.json"])
    for folder in COPIES:
        starter = mine[f"src/{folder}/problem5/hand_attention.json"].decode()
        assert starter == as_json(blank(matrices))
    build.write_tree(mine, tmp_path / "tree")
    hand = copy_reference(tmp_path / "mine") / "problem5" / "hand_attention.json"
    for solution, right in ((as_json(solve(matrices)), True), (hand.read_text("utf-8"), False)):
        hand.write_text(solution, encoding="utf-8")
        report = smoke_test.grade(tmp_path / "mine", tmp_path / "tree", answers, manifest_of("5a"))
        assert report.score == (report.max_score if right else 0)
    assert "Q is not" in report.outcomes["5a-0-basic"].details


def manifest_of(question):
    chosen = {check.id: check for check in WHOLE.checks.values() if check.question == question}
    return dataclasses.replace(WHOLE, checks=chosen)


@pytest.mark.full
def test_the_answers_and_seeds_of_a_cohort_do_not_leak(cohort):
    mine, answers, seeds = cohort
    secrets = known_secrets.gather_secrets(seeds, answers.rglob("*.tsv"))
    texts = {name: leaks.text_of(name, content) for name, content in mine.items()}
    assert leaks.find_leaks(texts, secrets) == []
    rows = lines_of(answers / "birth_test.tsv")
    sentence = lines_of(answers / "occupations" / "test.tsv")[9].partition("\t")[0]
    places = "\n".join(row.split("\t")[1] for row in rows[-12:])
    for text in (rows[0], sentence, places, *map(str, seeds)):
        assert leaks.find_leaks({"README.md": text}, secrets)


def test_a_starter_that_is_not_the_generator_s_is_not_released(tmp_path, monkeypatch):
    monkeypatch.setattr(starter, "find_drift", lambda: ["helper.py"])
    done = command(tmp_path / "x", "--no-proof")
    assert done.returncode == 2 and "helper.py" in done.stderr and not list(tmp_path.iterdir())


COHORTS = ["--cohort", COHORT, "--gold", "g"]
SPOILED = [  # a file, its text, the options, and what is said
    ("notes.py", f"# {ROOT}\n", ["--no-proof"], "src/notes.py, line 1"),
    ("jobs/targets.py", "1 / 0\n", COHORTS, "ZeroDivisionError"),
]


@pytest.mark.full
@pytest.mark.parametrize("name, text, options, says", SPOILED)
def test_what_is_wrong_leaves_nothing(files, tmp_path, monkeypatch, name, text, options, says):
    spoiled = files | {f"src/{name}": text.encode()}
    monkeypatch.setattr(build, "release_files", lambda *_: spoiled)
    done = command("x", *options, cwd=tmp_path)
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert says in done.stderr and "Nothing was written" in done.stderr


def test_a_release_that_is_stopped_leaves_nothing(tmp_path):
    words = [*"-m instructor release --no-handout --no-proof".split(), tmp_path / "release"]
    process = subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=subprocess.PIPE)
    wait_until(lambda: process.poll() is not None or list(tmp_path.glob(".release-*/*")))
    process.terminate()
    assert b"Interrupted" in process.communicate(timeout=60)[1] and process.returncode == 130
    assert not list(tmp_path.iterdir())


FULL = pytest.param(None, "The starter scores", marks=pytest.mark.full)


@pytest.mark.parametrize("readme, says", [(True, "README does not have"), FULL])
def test_a_wrong_readme_or_starter_fails_the_proof(files, tmp_path, monkeypatch, readme, says):
    spoiled = {"README.md": files["README.md"].replace(b"dataset.py namedata", b"x")}
    if not readme:
        monkeypatch.setattr(smoke_test, "commands", lambda manifest: ())
        spoiled = {"src/submission/dataset.py": (SOLUTION / "dataset.py").read_bytes()}
    top = {f"top/{name}": content for name, content in (files | spoiled).items()}
    write_zip(tmp_path / "spoiled.zip", top.items())
    with pytest.raises(smoke_test.Failed, match=says):
        smoke_test.prove(tmp_path / "spoiled.zip", WHOLE)


@pytest.mark.full
def test_a_reference_that_loses_points_fails_the_proof(tree, tmp_path):
    for path in copy_reference(tmp_path / "mine").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("self.proj(y)", "y")
        path.write_text(text, encoding="utf-8")
    report = smoke_test.grade(tmp_path / "mine", tree, None, manifest_of("1h"))
    with pytest.raises(smoke_test.Failed, match=r"It scores .*(\n.*)*wrong answer, 0 of"):
        smoke_test.require_full(report)
