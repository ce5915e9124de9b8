"""What `--resume` takes as done, what it continues, and what it makes again."""

import argparse
import os
import shutil
from dataclasses import replace

import pytest
import torch

import run
from helpers import DATA, ROOT, call, run_cli
from instructor.mistakes.patches import Edit
from jobs import records
from jobs.options import choose_options
from jobs.targets import JOBS
from run import build_parser

DONE, PRETRAINED = "vanilla_finetune_without_pretrain", "rope_pretrain"
LONG_AGO = (315532800, 315532800)  # 1980, as of files from a zip


@pytest.fixture
def mine(demo, tmp_path):
    """A copy of the demo's code beside its data, with the results of two jobs, to change."""
    folder = shutil.copytree(demo.code, tmp_path / "copy" / "mine")
    shutil.copytree(DATA, folder.parent / "data")
    (folder / "runs").mkdir()
    for made in (demo.folder / JOBS[name].writes for name in (DONE, PRETRAINED)):
        shutil.copy2(made, folder)
        shutil.copy2(records.path_of(made), folder / "runs")
    return folder


def command(folder, target, preset="smoke", *more):
    data = folder.parent / "data"
    return target, "--preset", preset, "--submission", folder, "--data", data, *more


def options_of(folder, *arguments):
    words = [str(word) for word in (*command(folder, "all", *arguments), "--device", "cpu")]
    return choose_options(build_parser().parse_args(words, argparse.Namespace()), quiet=True)


def resumed(folder, *arguments):
    """What `--resume` would do with the job, and what it would say of it."""
    return records.earlier(JOBS[DONE], replace(options_of(folder, *arguments), resume=True))


def test_a_result_holds_as_long_as_what_it_was_made_from(mine):
    os.utime(mine / "model.py")  # later, and the same
    # files of editors and of other problems
    (mine / ".#model.py").symlink_to("nobody@nowhere")
    (mine / "problem5" / "new.py").write_text("", encoding="utf-8")
    for name in (".wiki.txt.swp", ".a.txt", "wiki.txt~", "wiki.txt.bak"):
        (mine.parent / "data" / name).write_text("", encoding="utf-8")
    (mine / "folder.py").mkdir()
    assert resumed(mine)[0] == "done"
    assert resumed(mine, "laptop")[1].endswith(" was made: preset.")
    assert resumed(mine, "laptop", "--seed", "5")[1].endswith(" was made: preset, seed.")
    assert records.earlier(JOBS[DONE], options_of(mine)) == ("", "")


@pytest.mark.parametrize("name", ["mine/model.py", "data/wiki.txt"])
def test_a_source_that_changed_is_seen_whatever_its_date(mine, name):
    path = mine.parent / name
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, LONG_AGO)
    state, told = resumed(mine)
    assert not state and told.endswith(f" was made: {path.name}.")


def test_a_result_of_another_machine_must_be_newer_than_its_sources(mine):
    result = mine / "vanilla.model.params"
    result.write_bytes(result.read_bytes() + b"x")
    records.path_of(result).write_bytes(b"[]\xff")
    assert resumed(mine)[0] == "done"
    os.utime(result, LONG_AGO)
    state, told = resumed(mine)
    assert not state and f"Newer than when {result} was made: " in told and "model.py" in told


@pytest.fixture
def begun(mine):
    """The checkpoint of a training that has begun, with its record and nothing in it."""
    checkpoint = mine / "vanilla.model.ckpt"
    records.write_record(
        checkpoint, records.Record(records.ingredients(JOBS[DONE], options_of(mine)))
    )
    checkpoint.write_bytes(b"no checkpoint")
    return checkpoint


def test_a_checkpoint_under_changed_code_goes_on_and_this_is_told(mine, begun):
    """Without its record, it is refused and kept."""
    assert resumed(mine) == ("unfinished", f"{DONE} continues from {begun}.")
    (mine / "model.py").write_bytes((mine / "model.py").read_bytes() + b"\n")
    process = run_cli(*command(mine, DONE, "smoke", "--resume"))
    assert process.returncode == 2 and "is damaged" in process.stderr
    assert f"continues from {begun}. Changed since {begun} began: model.py." in process.stdout
    records.path_of(begun).unlink()
    process = run_cli(*command(mine, DONE, "smoke", "--resume"))
    assert process.returncode == 2 and "Copy it along, or delete the checkpoint" in process.stderr
    assert begun.read_bytes() == b"no checkpoint"


def test_a_checkpoint_of_another_training_is_not_continued(mine, begun):
    told = f"{DONE} begins again. Changed since {begun} began: "
    assert resumed(mine, "laptop") == ("", f"{told}preset.")
    assert resumed(mine, "smoke", "--seed", "5") == ("", f"{told}seed.")
    (mine.parent / "data" / "wiki.txt").write_text("Another corpus.\n", encoding="utf-8")
    assert resumed(mine) == ("", f"{told}wiki.txt.")


def test_a_finetuning_of_other_pretrained_weights_begins_again(mine):
    job, options = JOBS["rope_finetune_with_pretrain"], replace(options_of(mine), resume=True)
    checkpoint = records.checkpoint_of(job, options)
    checkpoint.write_bytes(b"x")
    others = {"rope.pretrain.params": "others"}
    records.write_record(checkpoint, records.Record(records.ingredients(job, options) | others))
    state, told = records.earlier(job, options)
    assert not state and told.endswith(f"Changed since {checkpoint} began: rope.pretrain.params.")


def test_a_preset_that_nobody_named_replaces_no_result_and_no_checkpoint_of_another(mine, begun):
    command = ("--submission", mine, "--resume", "--device", "cpu")
    for target in ("all", DONE):  # with results; then with a checkpoint alone
        process = call(run.main, target, *command)
        assert process.returncode == 2 and "--preset smoke continues" in process.stderr
        assert "--preset laptop makes all anew" in process.stderr and begun.exists()
        for result in mine.glob("*.params"):
            result.unlink()
    begun.unlink()
    (mine / "vanilla.model.params").write_bytes(b"of another machine")
    records.require_same_preset(options_of(mine, "laptop"))


def test_an_evaluation_is_done_again_once_there_are_answers(mine):
    job = JOBS["vanilla_eval_test_without_pretrain"]
    process = run_cli(*command(mine, job.target))
    assert process.returncode == 0 and "The answers are not here" in process.stdout
    assert records.read_record(mine / job.writes).accuracy is None
    gold = ("--gold", ROOT / "instructor" / "gold" / "laptop")
    process = run_cli(*command(mine, job.target, "smoke", "--resume", *gold))
    assert process.returncode == 0 and "its answers are there now" in process.stdout
    assert records.read_record(mine / job.writes).total == 40


def test_what_another_seed_made_is_made_again_and_is_another(mine):
    result = mine / "vanilla.model.params"
    before = torch.load(result, weights_only=True)["head.weight"]
    process = run_cli(*command(mine, DONE, "smoke", "--resume", "--seed", "3"))
    assert process.returncode == 0 and f"{DONE} is done again. " in process.stdout
    assert records.read_record(result).made_from["seed"] == 3
    assert not torch.equal(torch.load(result, weights_only=True)["head.weight"], before)


EPOCH = "                self.epoch += 1\n"
TRAIN = "    trainer_obj.train()\n"
STOP = """                if self.epoch == 3 and not config.resume:
                    __import__("signal").raise_signal(2)
"""


def test_ctrl_c_keeps_a_checkpoint_and_resume_gives_the_same_weights(code, tmp_path):
    """A real SIGINT in the middle of a training; the result is that of one that was never
    interrupted, and began again in spite of an old checkpoint.
    """
    folder = code(
        Edit("trainer.py", "ckpt_seconds = 30", "ckpt_seconds = 0"),
        Edit("trainer.py", EPOCH, EPOCH + STOP),
        Edit("helper.py", TRAIN, f"    trainer_obj.config.max_epochs = 6\n{TRAIN}"),
    )
    command = (DONE, "--preset", "smoke", "--submission", folder)
    process = run_cli(*command, "--out", tmp_path / "a")
    assert process.returncode == 130 and "Traceback" not in process.stderr
    assert "was interrupted" in process.stderr and "--resume continues" in process.stderr
    assert {path.suffix for path in (tmp_path / "a").glob("*.*")} == {".ckpt"}
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert run_cli(*command, "--out", tmp_path / "a", "--resume").returncode == 0
    trainer = folder / "trainer.py"
    trainer.write_text(trainer.read_text(encoding="utf-8").replace(STOP, ""), encoding="utf-8")
    assert run_cli(*command, "--out", tmp_path / "b").returncode == 0
    a, b = ((tmp_path / name / "vanilla.model.params").read_bytes() for name in "ab")
    assert a == b
    assert not [*tmp_path.glob("?/*.ckpt")]
