"""What `all --resume` takes as done, and what it makes again."""

import json
import os
import re
import shutil

import pytest

from conftest import ROOT, SOLUTION, run_cli

DONE = "vanilla_finetune_without_pretrain"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the reference with the results of a job."""
    folder = tmp_path_factory.mktemp("made") / "mine"
    shutil.copytree(SOLUTION, folder)
    shutil.copytree(ROOT / "data" / "laptop", folder.parent / "data")
    assert run_cli(*command(folder, DONE)).returncode == 0
    return folder


@pytest.fixture
def mine(finished, tmp_path):
    """The same, to change."""
    shutil.copytree(finished.parent, tmp_path / "copy")
    return tmp_path / "copy" / "mine"


def command(folder, target, preset="smoke", *more):
    data = folder.parent / "data"
    return target, "--preset", preset, "--submission", folder, "--data", data, *more


def is_done(folder, *arguments):
    """Whether `all --resume` would skip the job."""
    import argparse

    from jobs.options import choose_options
    from jobs.problem1.made_from import is_done
    from jobs.targets import JOBS
    from run import build_parser

    words = [str(word) for word in (*command(folder, "all", *arguments), "--device", "cpu")]
    args = build_parser().parse_args(words, argparse.Namespace())
    return is_done(JOBS[DONE], choose_options(args, quiet=True))


def test_a_result_holds_as_long_as_what_it_was_made_from(mine):
    assert is_done(mine)
    os.utime(mine / "model.py")  # later, and the same
    assert is_done(mine)
    assert not is_done(mine, "laptop") and not is_done(mine, "smoke", "--seed", "5")


@pytest.mark.parametrize("name", ["mine/model.py", "data/wiki.txt"])
def test_a_source_that_changed_is_seen_whatever_its_date(mine, name):
    """As from a zip, whose files may be dated 1980."""
    path = mine.parent / name
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, (315532800, 315532800))
    assert not is_done(mine)


def test_a_result_of_another_machine_must_be_newer_than_its_sources(mine):
    result = mine / "vanilla.model.params"
    result.write_bytes(result.read_bytes() + b"x")
    (mine / "runs" / f"{DONE}.made.json").write_bytes(b"[]\xff")
    assert is_done(mine)
    os.utime(result, (315532800, 315532800))
    assert not is_done(mine)


def test_a_checkpoint_under_changed_code_is_told(mine):
    """It is of another training, too, so nothing is trained here."""
    (mine / "vanilla.model.ckpt").write_bytes(b"no checkpoint")
    os.utime(mine / "vanilla.model.ckpt", (315532800, 315532800))
    assert not is_done(mine)
    process = run_cli(*command(mine, DONE, "smoke", "--resume"))
    assert process.returncode == 2 and "is damaged" in process.stderr
    assert re.search(r"continues from \S+ckpt. Since then, .*model.py.* changed", process.stdout)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_all_makes_again_what_another_seed_made(mine, jobs):
    record = mine / "runs" / f"{DONE}.made.json"
    assert json.loads(record.read_text(encoding="utf-8"))["preset"] == "smoke"
    process = run_cli(*command(mine, "all", "smoke", "--resume", "--jobs", jobs, "--seed", "3"))
    assert process.returncode == 0 and f"{DONE} is done: " not in process.stdout
    assert process.stdout.count(" is done again: ") == 1  # the others are new
    assert json.loads(record.read_text(encoding="utf-8"))["seed"] == 3
