"""python src/grader.py as a student and an instructor use it."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import grader
from autograder import read_manifest
from autograder.isolation import Isolation
from checks.support.session import MANIFEST, GradingWorker
from conftest import ROOT, SOLUTION, STARTER, call
from variants import make

GRADER = ROOT / "src" / "grader.py"
CHECKS = read_manifest(MANIFEST).checks.values()
CODED = sum(check.points for check in CHECKS if check.coded)


pytestmark = pytest.mark.usefixtures("warm")


def run_grader(*args, cwd=ROOT):
    """Run grader.py in this process; returns its exit code and output."""
    return call(grader.main, *args, cwd=cwd)


def start_grader(*args, cwd=ROOT, program=GRADER, **options):
    """Run grader.py and return the finished process."""
    return subprocess.run(
        [sys.executable, str(program), *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **options,
    )


@pytest.fixture
def submission(tmp_path):
    """A copy of the reference's code."""
    return make((), tmp_path / "code")


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def grade_to_json(tmp_path, *args):
    """Run grader.py; returns the process, the JSON, and its checks by id."""
    process = run_grader(*args, "--json", tmp_path / "result.json")
    assert "Traceback" not in process.stderr, process.stderr
    content = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    return process, content, {check["id"]: check for check in content["checks"]}


@pytest.mark.full
def test_the_reference_with_its_results(tmp_path):
    process, content, _ = grade_to_json(tmp_path, "--submission", "instructor/solution")
    assert process.returncode == 0 and content["score"] == content["max_score"] == CODED, (
        process.stdout
    )
    assert f"all  {CODED:g} of {CODED:g}" in process.stdout and "\033" not in process.stdout
    of_1g, of_3a = (sum(one.points for one in CHECKS if one.question == id) for id in ("1g", "3a"))
    assert f"Graded by hand, points: 1g {of_1g:g}, 3a {of_3a:g}" in process.stdout


def test_the_starter_from_its_own_folder(tmp_path):
    some = ("1c-0-basic", "1h-2-basic", "1h-3-basic", "6d-7-basic")
    process = run_grader(*some, "--json", tmp_path / "r.json", cwd=ROOT / "src")
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert process.returncode == 1 and content["score"] == 0
    assert {check["verdict"] for check in content["checks"]} == {"not implemented"}
    assert re.search(r"attention\.py:\d+  apply_rotary_emb\n +0/[\d.]+: 1h-3-basic", process.stdout)


def test_what_a_student_sees_without_hidden_checks(tmp_path):
    """In a released tree there is no instructor/; its folder may have any name."""
    copy = tmp_path / "Assignment 5 [1] ü"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", copy / "data")
    for name in ("attention.py", "dataset.py", "helper.py", "model.py"):
        shutil.copy(SOLUTION / name, copy / "src" / "submission")
    words = ("1c", "1h", "--no-artifacts", "--json", "r.json")
    process = start_grader(*words, program=copy / "src" / "grader.py", cwd=tmp_path)
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert process.returncode == 0, process.stdout + process.stderr
    there = [check for check in CHECKS if check.question in ("1c", "1h") and not check.artifacts]
    basic, hidden = (
        sum(check.points for check in there if check.id.endswith(kind))
        for kind in ("basic", "hidden")
    )
    points = [content[name] for name in ("score", "max_score_here", "max_score")]
    assert points == [basic, basic, basic + hidden]
    assert f"all  {basic:g} of {basic:g}, and {hidden:g} more in hidden checks" in process.stdout
    assert re.search(r"hidden +1h-7-hidden +-/", process.stdout)


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["6d-6"], ["6d-6-basic"]),
        (["6d-1"], ["6d-1-written"]),
        (["1c-0-basic", "5a-0"], ["1c-0-basic", "5a-0-basic"]),
        (["1g"], ["1g-0-written", "1g-1-written"]),
    ],
)
def test_choosing_checks(names, ids, capsys):
    """An id may be a beginning that ends before a dash."""
    assert grader.main(["--list", *names]) == 0
    assert re.findall(r"\b\d[a-z]-\d+-[a-z]+\b", capsys.readouterr().out) == ids


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("6d-99", "Did you mean 6d-9?"),
        ("1C", "Did you mean 1c?"),
        ("q1c", "Did you mean 1c?"),
        ("1h-3-basc", "Did you mean 1h-3-basic?"),
        ("7a", "Did you mean 3a or 4a or 5a?"),
        ("1h-3-b", "Did you mean 1h-3"),
        ("zzz", "python src/grader.py --list shows them."),
    ],
)
def test_a_misspelled_id_gets_near_ones(name, advice, capsys):
    assert grader.main([name]) == 2
    shown = capsys.readouterr()
    assert f"There is no check or question '{name}'. {advice}" in shown.err and shown.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["3"], "3: graded by hand. There is nothing to run"),
        (["3", "4", "--watch"], "3, 4: graded by hand."),
        (["--next", "3"], "3: graded by hand."),
        (["1f-6", "--no-artifacts"], "--no-artifacts leaves out all of 1f-6."),
        (["5a", "--json", "{folder}"], "{folder} is a folder. Check --json"),
    ],
)
def test_what_cannot_be_graded_is_said_at_once(arguments, message, tmp_path, capsys):
    assert grader.main([argument.format(folder=tmp_path) for argument in arguments]) == 2
    shown = capsys.readouterr()
    assert message.format(folder=tmp_path) in shown.err and shown.out == ""


@pytest.mark.skipif(os.name == "nt", reason="the folder of Python has another name there")
def test_python_may_be_started_through_any_folder(tmp_path):
    """Also where the command has "..", which an isolated process may not be able to follow."""
    levels = []
    for python in (sys.executable, os.path.relpath(sys.executable, tmp_path)):
        process = subprocess.run(
            [python, str(GRADER), "6d-7", "--submission", str(SOLUTION)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
        )
        assert process.returncode == 0, process.stderr
        levels.append(process.stdout.rpartition("isolation: ")[2])
    assert levels[0] == levels[1]


@pytest.mark.full
def test_a_failure_can_be_repeated(tmp_path, submission):
    replace(submission / "attention.py", "a * cos - b * sin", "a * sin - b * cos")
    arguments = ("--submission", submission)
    _, first, checks = grade_to_json(tmp_path, "1h-3-basic", *arguments)
    message = checks["1h-3-basic"]["message"]
    again = ("1h-3-basic", "--seed", first["seed"], *arguments)
    process, _, checks = grade_to_json(tmp_path, *again)
    assert checks["1h-3-basic"]["message"] == message
    assert (
        f"grader.py 1h-3-basic --seed {first['seed']} --submission {submission}" in process.stdout
    )
    _, other, checks = grade_to_json(tmp_path, "1h-3-basic", *arguments)
    assert other["seed"] != first["seed"] and checks["1h-3-basic"]["message"] != message


LOOK = "document = self.data[idx]"


def test_debugging(submission):
    """Also folders without __init__.py."""
    replace(submission / "dataset.py", LOOK, f"{LOOK}; print('here', idx)")
    ids = ("1c-0-basic", "5d-3-basic", "5d-8-basic")
    process = start_grader(*ids, "--debug", "--submission", submission)
    assert process.returncode == 0 and "isolation: none" in process.stdout
    assert "\nhere 3\n" in process.stdout


def test_breakpoints(submission, tmp_path):
    replace(submission / "dataset.py", LOOK, f"{LOOK}; breakpoint()")
    words = ("1c-0-basic", "--debug", "--submission", submission)
    process = start_grader(*words, input="p 'here', idx\nq\n", cwd=tmp_path)
    assert "(Pdb) ('here', 0)" in process.stdout
    # nothing is left in the folder that it was called from
    assert list(tmp_path.iterdir()) == [submission]


def test_a_closed_pipe_is_no_error():
    command = f"'{sys.executable}' '{GRADER}' 1h-2-basic --submission '{SOLUTION}' | head -1"
    process = subprocess.run(
        ["bash", "-c", command], capture_output=True, encoding="utf-8", timeout=100
    )
    assert process.stdout.startswith("Grading") and process.stderr == ""


ATTENTION, DATASET, HELPER = "attention.py", "dataset.py", "helper.py"
COS, SIN = "angles.cos()", "angles.sin()"
CACHE = "precompute_rotary_emb(config.n_embd"
MISTAKES = [
    (ATTENTION, f"(({COS}, {SIN})", f"(({SIN}, {COS})", "cosines and sines are swapped"),
    (ATTENTION, "** (-2.0 * torch", "** (-1.0 * torch", "the exponent lacks its factor 2"),
    (ATTENTION, f"{CACHE} // config.n_head", CACHE, "it was made for n_embd"),
    (ATTENTION, "x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)", "half-split convention"),
    (ATTENTION, "k = apply_rotary_emb(k, rope_cache)", "", "rotated, but the keys are not"),
    (DATASET, "ids[:-1], ids[1:]", "ids[:-1], ids[:-1]", "y equals x: it is not shifted"),
    (DATASET, "self.MASK_CHAR + suffix + self.MASK_CHAR +", "suffix +", "characters are missing"),
    (HELPER, "75 if reading_params_path is None else 10", "10", "that is for pretrained weights"),
]


@pytest.mark.full
@pytest.mark.parametrize(("file", "old", "new", "hint"), MISTAKES)
def test_classic_mistakes_are_named(tmp_path, submission, file, old, new, hint):
    replace(submission / file, old, new)
    process, _, checks = grade_to_json(tmp_path, "1", "--no-artifacts", "--submission", submission)
    messages = [check["message"] for id, check in checks.items() if id.endswith("basic")]
    assert process.returncode == 1 and any(hint in text for text in messages), process.stdout


def passing(checks, question):
    return [
        check["verdict"] == "passed"
        for id, check in checks.items()
        if check["question"] == question
    ]


def test_a_syntax_error(tmp_path, submission):
    replace(submission / "attention.py", "rotated_x = None", "rotated_x = = None")
    _, _, checks = grade_to_json(tmp_path, "1c", "1h", "--submission", submission)
    assert all(passing(checks, "1c")) and not any(passing(checks, "1h"))
    assert (
        checks["1h-2-basic"]["verdict"] == "exception"
        and "attention.py, line" in checks["1h-2-basic"]["message"]
    )
    assert "SyntaxError: invalid syntax" in checks["1h-2-basic"]["message"]


@pytest.mark.parametrize(
    ("name", "encoding", "verdict", "message"),
    [
        (None, None, "not implemented", "is missing."),
        ("attention (1).py", "utf-8", "exception", "is missing; there is 'attention (1).py'"),
        ("attention.py", "utf-16", "exception", "is not UTF-8 but UTF-16. Save the file as UTF-8."),
    ],
)
def test_a_missing_file(tmp_path, submission, name, encoding, verdict, message):
    text = (submission / "attention.py").read_text(encoding="utf-8")
    (submission / "attention.py").unlink()
    if name:
        (submission / name).write_text(text, encoding=encoding)
    _, content, checks = grade_to_json(tmp_path, "1c", "1h", "--submission", submission)
    check = checks["1h-2-basic"]
    assert all(passing(checks, "1c")) and check["verdict"] == verdict
    assert check["message"].startswith(f"attention.py {message}")
    said = f"attention.py {message}".removesuffix(".")
    assert any(notice.startswith(said) for notice in content["notices"])


@pytest.mark.full
def test_an_older_edition_without_rope(tmp_path, submission):
    """Its code does not know initialize_rope_model; that costs what needs it, and nothing of 1c, 1d
    and 1f.
    """
    text = (submission / "helper.py").read_text(encoding="utf-8")
    start, end = text.index("def initialize_rope_model"), text.index("def finetune")
    (submission / "helper.py").write_text(text[:start] + text[end:], encoding="utf-8")
    _, content, checks = grade_to_json(tmp_path, "1", "--no-artifacts", "--submission", submission)
    assert all(passing(checks, "1c") + passing(checks, "1d") + passing(checks, "1f"))
    assert checks["1h-7-hidden"]["verdict"] == "not implemented"
    assert "helper.py does not define initialize_rope_model" in checks["1h-7-hidden"]["details"]
    assert any(
        "helper.py differs from the starter outside the markers" in notice
        for notice in content["notices"]
    )


def test_given_files_are_ours(tmp_path, submission):
    replace(submission / "trainer.py", "self.scaler.step(self.optimizer)", "pass")
    (submission / "__init__.py").write_text("raise SystemExit\n", encoding="utf-8")
    process, content, checks = grade_to_json(
        tmp_path, "1d", "1c-0-basic", "--submission", submission
    )
    assert process.returncode == 0
    assert sorted(notice.split(" ")[0] for notice in content["notices"]) == [
        "__init__.py",
        "trainer.py",
    ]


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="a folder where nobody may write")
@pytest.mark.parametrize("before", ["import copy", "trainer_obj.train()", "tconf = trainer_obj"])
def test_a_change_of_folder_costs_nothing(tmp_path, submission, before):
    """At the import of a file, or in a function."""
    text = (submission / "helper.py").read_text(encoding="utf-8")
    change = r"\1__import__('os').chdir('/proc')\n\g<0>"
    text = re.sub(rf"^( *){re.escape(before)}", change, text, flags=re.MULTILINE)
    (submission / "helper.py").write_text(text, encoding="utf-8")
    process, *_ = grade_to_json(tmp_path, "1d", "1f", "--no-artifacts", "--submission", submission)
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize(
    ("old", "new", "check", "hint"),
    [
        ("copy.copy(mconf)", "mconf", "1h-9-basic", "sets mconf.rope in place"),
        ("final_tokens=650", "final_tokens=200", "1f-0-basic", "accepted, but the handout asks"),
    ],
)
def test_what_is_accepted_and_not_asked_is_a_hint(tmp_path, submission, old, new, check, hint):
    replace(submission / "helper.py", old, new)
    process, _, checks = grade_to_json(tmp_path, check, "--submission", submission)
    assert process.returncode == 0 and hint in checks[check]["hints"][0]
    assert f"Hint ({check})" in process.stdout


@pytest.mark.parametrize(
    ("file", "line", "check"),
    [
        ("helper.py", "model = GPT(mconf)", "1d-4-basic"),
        ("helper.py", "model = GPT(rope_conf)", "1h-9-basic"),
        ("model.py", "x_input = token_embeddings\n", "1h-9-basic"),
    ],
)
def test_what_is_not_written_costs_points_without_hidden_checks(
    tmp_path, submission, file, line, check
):
    replace(submission / file, line, "raise NotImplementedError('not there yet')\n")
    _, _, checks = grade_to_json(tmp_path, check, "--submission", submission)
    assert checks[check]["verdict"] == "not implemented" and checks[check]["score"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--submission", "nowhere"], "nowhere does not exist"),
        (["--submission", "data"], "it is not a submission"),
        (["--artifacts", "nowhere"], "nowhere does not exist"),
        (["--data", "data"], "--data also needs --preset"),
        (["--data", "src", "--preset", "laptop"], "wiki.txt does not exist. Check --data"),
        (["--json", "nowhere/r.json"], "Check --json"),
        (["--hidden", "nowhere"], "Check --hidden"),
        (["--seed", "x"], "a seed is a whole number"),
        (["--preset", "smoke"], "invalid choice"),
        (["--jsn", "x"], "nrecognized arguments"),
    ],
)
def test_mistakes_on_the_command_line(arguments, message):
    process = run_grader(*arguments)
    assert (
        process.returncode == 2 and message in process.stderr and "Traceback" not in process.stderr
    )


def test_the_starter_has_the_notices_of_an_edited_one(tmp_path):
    folder = shutil.copytree(STARTER, tmp_path / "code")
    replace(folder / "model.py", "n_layer = 4", "n_layer = 5")
    _, content, _ = grade_to_json(tmp_path, "1h-2-basic", "--submission", folder)
    line = 1 + (folder / "model.py").read_text(encoding="utf-8").split("\n").index(
        "    n_layer = 5"
    )
    assert content["notices"] == [
        f"model.py differs from the starter outside the markers, in line {line}. It is graded as "
        "submitted; was that intended?"
    ]


def test_a_zip_is_graded_as_its_folder_is(submission, tmp_path):
    shutil.make_archive(str(tmp_path / "upload"), "zip", submission.parent, "code")
    _, content, _ = grade_to_json(
        tmp_path, "1h", "--no-artifacts", "--submission", tmp_path / "upload.zip"
    )
    assert content["score"] == content["max_score"] > 0


def test_what_is_no_plain_file_is_refused_whole(submission, tmp_path):
    (submission / "notes.py").symlink_to("/etc/passwd")
    process = run_grader("1h-2-basic", "--submission", submission, "--json", tmp_path / "r.json")
    assert (
        process.returncode == 2
        and "notes.py is a link. Put the file itself there." in process.stderr
    )
    assert not (tmp_path / "r.json").exists()


@pytest.fixture
def only_limits(monkeypatch):
    """A machine on which no strong isolation level works."""
    monkeypatch.setattr("checks.support.session.GradingWorker", GradingWorker)
    monkeypatch.setattr(
        "checks.support.session.choose",
        lambda: Isolation("limits", "bubblewrap: bwrap is not installed; landlock: no root"),
    )


def test_the_reference_of_this_copy_needs_no_sandbox(only_limits, capsys):
    assert grader.main(["5a", "--submission", os.path.relpath(SOLUTION)]) == 0
    printed = capsys.readouterr().out
    assert "isolation: limits" in printed
    assert "No isolation stronger than limits works here: bubblewrap: bwrap is not" in printed


def test_hidden_checks_need_a_sandbox(only_limits, submission, tmp_path, capsys):
    arguments = ["1h-2-basic", "--submission", str(submission), "--json", str(tmp_path / "r.json")]
    assert grader.main(arguments) == 2 and not (tmp_path / "r.json").exists()
    error = capsys.readouterr().err
    assert (
        "bubblewrap: bwrap is not installed\n  landlock: no root" in error
        and "--allow-weak-isolation" in error
    )
    assert grader.main([*arguments, "--allow-weak-isolation"]) == 0
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (
        content["isolation"] == "limits" and "bwrap is not installed" in content["isolation_reason"]
    )


def test_a_summary_for_a_git_host(tmp_path, submission):
    """What is not written yet fails no push; what is written and wrong does."""
    summary = tmp_path / "summary.md"
    some = ("1c-0-basic", "1h-3-basic", "5a-0-basic", "--summary", summary)
    process = run_grader(*some, "--submission", STARTER)
    text = summary.read_text(encoding="utf-8")
    assert process.returncode == 0 and "  all  0 of " in process.stdout
    assert text.startswith("## Points: 0 of ") and "Failed" not in text
    assert "| 1c Span corruption | 0 of " in text and "| 1 not implemented |" in text
    assert re.search(r"\nNext: write .*; `[^`]*grader.py [^`]*`\n\Z", text), (
        "the command alone is code"
    )
    assert run_grader(*some, "--submission", submission).returncode == 0
    assert "| 1 passed |" in summary.read_text(encoding="utf-8")
    replace(
        submission / "attention.py",
        "def apply_rotary_emb(",
        "def apply_rotary_emb(*x):\n    raise ValueError('<b> `@ada` | [x](y)')\n\n\ndef other(",
    )
    assert run_grader(*some, "--submission", submission).returncode == 1
    text = summary.read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if "ValueError" in line)
    assert "- **1h-3-basic** " in text and ": exception.\n" in text
    assert line.startswith("  `attention.py, line ") and line.endswith("`")
    assert "<b> '@ada' | [x](y)" in line, "shown as it is, in a code span"


def test_a_summary_that_cannot_be_written(tmp_path):
    process = run_grader("1c-0-basic", "--summary", tmp_path / "none" / "s.md")
    assert process.returncode == 2 and "is not a folder. Check --summary." in process.stderr
    process = run_grader("1c", "--watch", "--summary", tmp_path / "s.md")
    assert process.returncode == 2 and "--watch and --summary don't go together" in process.stderr
