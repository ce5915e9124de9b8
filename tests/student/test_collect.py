"""Collecting what is handed in: all of it or a list of what is missing, the same bytes every time,
and nothing outdated unsaid.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from autograder.intake import take
from checks.support.staging import RESULTS, code_limit, result_limit, stage
from conftest import ROOT, SOLUTION, STARTER
from jobs.deliverables import (
    ANSWERING,
    ANSWERS,
    CODE,
    DELIVERABLES,
    FOLDERS,
    MADE_BY,
    STUDENT_FILES,
)
from jobs.problems import PROBLEMS
from jobs.targets import JOBS
from variants import make

NOW = 1_800_000_000


def collect(*args, **kwargs):
    return subprocess.run(
        [sys.executable, str(ROOT / "src" / "collect.py"), *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        **kwargs,
    )


@pytest.fixture
def folder(tmp_path):
    """All deliverables: the code of the reference, results that are just bytes, each newer than
    what it was made from.
    """
    folder = make((), tmp_path / "submission")
    for age, name in enumerate(DELIVERABLES):
        if name not in (*CODE, *ANSWERS):
            (folder / name).write_bytes(f"bytes of {name}".encode())
        os.utime(folder / name, (NOW + age, NOW + age))
    return folder


def test_everything_is_put_into_a_zip(folder, tmp_path):
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    process = collect("--submission", folder, "--out", tmp_path / "s.zip")
    assert process.returncode == 0 and not process.stderr
    assert (
        "Warning" not in process.stdout
        and f"{len(DELIVERABLES)} files" in process.stdout
        and process.stdout.endswith(" KiB\n")
    )
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == list(DELIVERABLES)
        assert all(archive.read(name) == (folder / name).read_bytes() for name in DELIVERABLES)


def test_the_zip_does_not_depend_on_when_and_where(folder, tmp_path):
    assert collect("--submission", folder, "--out", tmp_path / "a.zip").returncode == 0
    for name in DELIVERABLES:
        os.utime(folder / name, (NOW - 10**8, NOW - 10**8))
        (folder / name).chmod(0o600)
    process = collect(
        "--submission",
        folder,
        "--out",
        tmp_path / "b.zip",
        env={**os.environ, "TZ": "Asia/Tokyo"},
        umask=0o077,
    )
    assert (
        process.returncode == 0
        and (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    )


def test_the_grader_takes_it_in(folder, tmp_path):
    assert collect("--submission", folder, "--out", tmp_path / "s.zip").returncode == 0
    notices = take(
        tmp_path / "s.zip",
        tmp_path / "taken",
        lambda name: code_limit(name) or result_limit(name),
        folders=FOLDERS,
    )
    names = [
        path.relative_to(tmp_path / "taken").as_posix()
        for path in (tmp_path / "taken").rglob("*")
        if path.is_file()
    ]
    assert notices == [] and sorted(names) == sorted(DELIVERABLES)
    (tmp_path / "staged").mkdir()
    _, notices = stage(tmp_path / "s.zip", tmp_path / "staged")
    assert (
        notices == []
        and {path.name for path in (tmp_path / "staged" / RESULTS).iterdir()}
        == set(DELIVERABLES) - {*CODE, *ANSWERS}
        == MADE_BY.keys()
    )
    assert all(
        (tmp_path / "staged" / "submission" / name).read_bytes() == (folder / name).read_bytes()
        for name in (*STUDENT_FILES, *ANSWERS)
    )


def test_a_folder_under_another_name_is_named(folder, tmp_path):
    (folder / "problem6").rename(folder / "Problem6")
    process = collect("--submission", folder, "--out", tmp_path / "s.zip")
    assert process.returncode == 2
    lines = [line for line in process.stderr.splitlines() if line.startswith("  problem6/")]
    assert lines and all(line.endswith(" there is 'Problem6': rename it") for line in lines)


def test_what_is_missing_is_listed_with_the_command_that_makes_it(folder, tmp_path):
    for name in MADE_BY:
        (folder / name).unlink()
    (folder / "rope.finetune.params").touch()
    for name in ("utils.py", *ANSWERS):
        (folder / name).unlink()
    (folder / "Utils.py.txt").touch()
    (folder / "encoder (1).params").touch()
    process = collect("--submission", folder, "--out", tmp_path / "s.zip")
    assert process.returncode == 2 and not (tmp_path / "s.zip").exists() and not process.stdout
    lines = {line.split()[0]: line for line in process.stderr.splitlines() if line.startswith("  ")}
    assert lines.keys() == {
        "utils.py",
        *ANSWERS,
        *(job.writes for job in JOBS.values()),
        "encoder.params",
    }
    assert lines["utils.py"].endswith(" there is 'Utils.py.txt': rename it")
    assert lines["encoder.params"].endswith(" there is 'encoder (1).params': rename it")
    assert lines["rope.finetune.params"].endswith(
        "./run.sh rope_finetune_with_pretrain (it is empty)"
    )
    assert all(
        lines[job.writes].removesuffix(" (it is empty)").endswith(f"./run.sh {job.target}")
        for job in JOBS.values()
    )
    assert all("starter" in lines[name] for name in ANSWERS) and "--allow-missing" in process.stderr

    process = collect("--submission", folder, "--out", tmp_path / "s.zip", "--allow-missing")
    assert process.returncode == 0 and process.stdout.startswith("Left out")
    assert all(line in process.stdout for line in lines.values())
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == [name for name in CODE if name != "utils.py"]


@pytest.mark.parametrize(
    "newer, outdated",
    [
        (
            "vanilla.finetune.params",
            {
                "vanilla.pretrain.dev.predictions": "older than vanilla.finetune.params",
                "vanilla.pretrain.test.predictions": "older than vanilla.finetune.params",
            },
        ),
        (
            "rope.pretrain.params",
            {
                "rope.finetune.params": "older than rope.pretrain.params",
                "rope.pretrain.dev.predictions": "made from rope.finetune.params",
                "rope.pretrain.test.predictions": "made from rope.finetune.params",
            },
        ),
        *(
            (
                name,
                {
                    job.writes: f"older than {name}"
                    for job in JOBS.values()
                    if job.kind == "evaluate"
                },
            )
            for name in ANSWERING
        ),
        ("problem5/encoder.py", {"encoder.params": "older than problem5/encoder.py"}),
        *(
            (name, {}) for name in ("problem5/numpy_attention.py", *ANSWERS)
        ),  # nothing comes from them
        # given: grading takes its own
        *((name, {}) for name in ("utils.py", "problem5/encoder_data.py")),
    ],
)
def test_outdated_results_are_told_with_the_command_that_makes_them_anew(
    folder, tmp_path, newer, outdated
):
    os.utime(folder / newer, (NOW + 100, NOW + 100))
    process = collect("--submission", folder, "--out", tmp_path / "s.zip")
    assert (
        process.returncode == 0
        and (tmp_path / "s.zip").exists()
        and ("Warning" in process.stdout) == bool(outdated)
    )
    told = [line.split(None, 1) for line in process.stdout.splitlines() if line.startswith("  ")]
    assert dict(told) == {
        name: f"{outdated[name]}: ./run.sh {target}"
        for name, target in MADE_BY.items()
        if name in outdated
    }
    assert [name for name, _ in told] == [name for name in MADE_BY if name in outdated]


@pytest.mark.parametrize(
    "spoil, complaint",
    [
        (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
        (lambda path: path.symlink_to("nowhere"), "is a link"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: os.mkfifo(path), "not a regular file"),
    ],
)
def test_what_is_no_file_is_refused(folder, tmp_path, spoil, complaint):
    (folder / "helper.py").unlink()
    spoil(folder / "helper.py")
    (tmp_path / "s.zip").write_bytes(b"the one before")
    process = collect(
        "--submission", folder, "--out", tmp_path / "s.zip", "--allow-missing", timeout=60
    )
    assert process.returncode == 2 and complaint in process.stderr and "helper.py" in process.stderr
    assert (tmp_path / "s.zip").read_bytes() == b"the one before"


def test_mistakes_on_the_command_line_are_told(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for options, complaint in (
        (["--submission", tmp_path / "nowhere"], "is not a folder"),
        (["--submission", tmp_path / "empty"], "nothing to hand in"),
        (["--submission", folder, "--out", tmp_path], "is a folder"),
    ):
        process = collect(*options, "--allow-missing")
        assert (
            process.returncode == 2
            and complaint in process.stderr
            and "Traceback" not in process.stderr
        )


def test_the_script_works_from_anywhere_and_without_other_programs(folder, tmp_path):
    copy = tmp_path / "my copy"
    (copy / "src").mkdir(parents=True)
    for name in (
        "collect_submission.sh",
        "run.sh",
        *(f"src/{name}.py" for name in ("launch", "environment", "torch_build", "collect")),
        "src/jobs/deliverables.py",
        "src/jobs/__init__.py",
        "src/common/files.py",
        "src/common/streams.py",
        "src/common/__init__.py",
        "src/jobs/problems.py",
        "src/jobs/target.py",
        "src/jobs/targets.py",
        "src/jobs/weights.py",
        *(f"src/jobs/problem{number}/contents.py" for number in PROBLEMS),
    ):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(folder, copy / "src" / "submission")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "dirname"):  # no zip among them
        (programs / name).symlink_to(shutil.which(name))
    (programs / "python3").write_text(
        f'#!{shutil.which("bash")}\nexec "{sys.executable}" "$@"\n', encoding="utf-8"
    )
    (programs / "python3").chmod(0o755)
    process = subprocess.run(
        [shutil.which("bash"), str(copy / "collect_submission.sh")],
        cwd=tmp_path,
        env={"PATH": str(programs)},
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    assert (copy / "submission.zip").is_file()


def test_the_script_for_windows_has_its_line_ends():
    raw = (ROOT / "collect_submission.bat").read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") and b'"%~dp0run.bat" collect %*' in raw


def test_code_that_is_not_ready_is_warned_of(folder, tmp_path):
    shutil.copy(ROOT / "src" / "submission" / "dataset.py", folder / "dataset.py")
    (folder / "model.py").write_text("x = 1\ndef (\n", encoding="utf-8")
    (folder / "helper.py").write_text("x = 1\n", encoding="utf-16")
    (folder / "encoder.params").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    said = collect("--submission", folder, "--out", tmp_path / "x.zip").stdout
    assert (
        "dataset.py, line" in said
        and "not filled in (1c: CharCorruptionDataset.__getitem__)" in said
        and "model.py, line 2" in said
        and "  helper.py is not UTF-8 but UTF-16. Save the file as UTF-8." in said
        and "  encoder.params: It is a pointer of Git LFS" in said
    )


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda starter, solved: starter, ["scores", "scaled_scores", "weights", "output"]),
        (
            lambda starter, solved: (
                starter
                | {
                    "scores": solved["scores"],
                    "weights": [*solved["weights"][:1], [0.5, None, 0.5]],
                }
            ),
            ["scaled_scores", "weights", "output"],
        ),
        (lambda starter, solved: solved | {"output": None}, ["output"]),
        (lambda starter, solved: solved, []),
        (lambda starter, solved: [None], []),  # that is for the grader to say
    ],
)
def test_numbers_that_are_not_filled_in_are_warned_of(folder, tmp_path, change, told):
    starter, solved = (
        json.loads((place / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
        for place in (STARTER, SOLUTION)
    )
    (folder / "problem5" / "hand_attention.json").write_text(
        json.dumps(change(starter, solved)), encoding="utf-8"
    )
    process = collect("--submission", folder, "--out", tmp_path / "x.zip")
    assert process.returncode == 0 and ("cannot have full points yet" in process.stdout) == bool(
        told
    )
    assert [line.strip() for line in process.stdout.splitlines() if "hand_attention" in line] == [
        f"problem5/hand_attention.json: not filled in ({name})" for name in told
    ]


@pytest.mark.parametrize(
    "content, told",
    [
        (b'{\n "scores": [1,]\n}', "problem5/hand_attention.json, line 2: "),
        (b"\xff\xfe\x00", "problem5/hand_attention.json: "),
        (b"[" * 200_000, "problem5/hand_attention.json: "),
        (b'{"scores": ' + b"9" * 10_000 + b"}", "problem5/hand_attention.json: "),
    ],
    ids=["no JSON", "no UTF-8", "nested without end", "a number without end"],
)
def test_numbers_that_cannot_be_read_are_warned_of(folder, tmp_path, content, told):
    (folder / "problem5" / "hand_attention.json").write_bytes(content)
    process = collect("--submission", folder, "--out", tmp_path / "x.zip")
    assert process.returncode == 0 and not process.stderr and f"  {told}" in process.stdout


@pytest.mark.parametrize(
    "change, told",
    [
        (
            lambda text: (STARTER / "problem6" / "choices.toml").read_text(encoding="utf-8"),
            ["spam_filter", "chatbot", "summarizer", "sql_generator", "search"],
        ),
        (lambda text: re.sub(r'causal-lm"', '"', text), ["chatbot"]),
        (lambda text: text.replace("\n", "\r\n"), []),
        (lambda text: 'remark = "an answer"\n' + text, []),  # that is for the grader to say
    ],
)
def test_choices_that_are_not_made_are_warned_of(folder, tmp_path, change, told):
    text = change((SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8"))
    (folder / "problem6" / "choices.toml").write_text(text, encoding="utf-8", newline="")
    process = collect("--submission", folder, "--out", tmp_path / "x.zip")
    assert process.returncode == 0 and ("cannot have full points yet" in process.stdout) == bool(
        told
    )
    assert [line.strip() for line in process.stdout.splitlines() if "choices.toml" in line] == [
        f"problem6/choices.toml: not filled in ({name})" for name in told
    ]


@pytest.mark.parametrize(
    "content",
    [b"[spam_filter\n", b"\xff\xfe\x00", b"x = " + b"[" * 5_000, b"x = " + b"9" * 10_000],
    ids=["no TOML", "no UTF-8", "nested without end", "a number without end"],
)
def test_choices_that_cannot_be_read_are_warned_of(folder, tmp_path, content):
    (folder / "problem6" / "choices.toml").write_bytes(content)
    process = collect("--submission", folder, "--out", tmp_path / "x.zip")
    assert (
        process.returncode == 0
        and not process.stderr
        and re.search("  problem6/choices.toml(:| is not UTF-8 but UTF-16)", process.stdout)
    )


def test_an_older_zip_is_not_taken_for_the_new_one(folder, tmp_path):
    assert collect("--submission", folder, "--out", tmp_path / "x.zip").returncode == 0
    (folder / "model.py").unlink()
    refused = collect("--submission", folder, "--out", tmp_path / "x.zip")
    assert refused.returncode == 2 and "The existing x.zip is an older one" in refused.stderr
