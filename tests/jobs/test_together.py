"""Jobs at the same time: the results, errors and ends of one after the other."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from unittest import mock

import pytest
import torch

from helpers import ROOT, command_of, descendants, is_running, run_cli, wait_until
from instructor.mistakes.patches import Edit
from jobs.options import choose_options
from jobs.problem1 import together
from jobs.targets import JOBS
from run import build_parser

SMOKE = ("--preset", "smoke")
ALL = list(JOBS.values())


def same(one, other, job):
    """Whether two folders have the same result of a job, to the bit."""
    return (one / job.writes).read_bytes() == (other / job.writes).read_bytes()


def start(target, submission, out, **streams):
    """Start a target with two jobs at the same time, in a process group of its own."""
    arguments = [target, *SMOKE, "--submission", submission, "--out", out, "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, str(ROOT / "src" / "run.py"), *map(str, arguments)],
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **streams,
    )


@pytest.mark.full
def test_results_and_output_are_those_of_one_after_the_other(demo, tmp_path):
    """But several read nothing, and a job whose log was deleted shows nothing. A terminal has one
    bar with the time that is left.
    """
    out = tmp_path / "out"
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (24, 120))
    with open(tmp_path / "printed", "wb") as file:
        process = start("all", demo.code, out, stdin=end, stdout=file, stderr=end)
    os.close(end)
    shown = b""
    with contextlib.suppress(OSError):  # all have closed it
        while block := os.read(terminal, 4096):
            shown += block
    assert process.wait(60) == 0, shown
    assert all(same(demo.folder, out, job) for job in ALL)
    bar = rb"\d%\|.*\| \d\d:\d\d<\d\d:\d\d, \w+_pretrain \d+%, \w+_pretrain \d+%"
    assert re.search(bar, shown) and b"100%|" in shown and b"batch/s" not in shown
    printed = (tmp_path / "printed").read_text(encoding="utf-8")
    assert "read 'yes'" in demo.printed and printed.count("read ''") == 4
    blocks = re.split(r"\n\n(?=\[\d+/11\] )", printed.rstrip())[1:]
    titles = [f"[{number}/11] {target}" for number, target in enumerate(JOBS, start=1)]
    assert sorted(block.split("\n")[0] for block in blocks) == sorted(titles)
    for title, _, block in (block.partition("\n") for block in blocks):
        job = JOBS[title.split()[1]]
        log = out / "runs" / f"{job.target}.log"
        if job.writes == "rope.finetune.params":
            assert not block and not log.exists()
            continue
        expected = [f"Wrote {out / job.writes}\n"]
        if job.kind != "evaluate":
            lines = "".join(f"{job.writes} {number}\n" for number in range(3000))
            expected += [f"{lines}from the shell\n", "100%|", f"the end of {job.writes}Trained in "]
        for text in (log.read_text(encoding="utf-8"), f"{block}\n"):
            assert all(words in text for words in expected)
        assert block.count("%|") == (job.kind != "evaluate")


@pytest.mark.parametrize("jobs", [1, 5])
def test_sums_do_not_depend_on_the_number_of_jobs(monkeypatch, jobs):
    """At laptop size, sums over several threads differ in the last bits."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    args = build_parser().parse_args(["all", "--preset", "laptop", "--device", "cpu"])
    assert together.Together(ALL, choose_options(args), jobs).threads == 1


FAILURES = [
    ("os.kill(os.getpid(), 9)", 2, "rope_pretrain was killed from outside"),
    pytest.param("1 / 0", 1, "ZeroDivisionError: division by zero", marks=pytest.mark.full),
    pytest.param("raise SystemExit(7)", 7, "ended with exit code 7", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("line", "exit_code", "message"), FAILURES)
def test_a_failure_is_told_as_ever_and_leaves_what_comes_before(
    demo, results, monkeypatch, line, exit_code, message
):
    """Jobs before it that have begun are completed."""
    for job in ALL:
        if job.variant == "rope" or job.writes == "vanilla.finetune.params":
            (results / job.writes).unlink()
    monkeypatch.setenv("HOOK", line)
    command = ("all", *SMOKE, "--submission", demo.code, "--out", results, "--resume", "--jobs", 2)
    process = run_cli(*command)
    assert process.returncode == exit_code and message in process.stderr.split("\n\n")[-1]
    assert ("Traceback" in process.stderr) == (exit_code == 1)
    written = [job for job in ALL if (results / job.writes).exists()]
    assert written == [job for job in ALL if job.variant == "vanilla"]
    assert all(same(demo.folder, results, job) for job in written)


@pytest.mark.full
def test_a_cause_in_two_jobs_is_told_once(code, tmp_path):
    stub = 'raise NotImplementedError("1d: GPT")\n\n\nclass GPT('
    folder = code(Edit("model.py", "class GPT(", stub))
    process = run_cli("all", *SMOKE, "--submission", folder, "--out", tmp_path / "out", "--jobs", 2)
    assert process.returncode == 3
    assert f"{process.stdout}{process.stderr}".count("Not implemented yet") == 1


@pytest.fixture
def stuck(code, tmp_path, monkeypatch):
    """A demo whose two pretrainings wait after their first checkpoint: the process, the folder of
    the results, and the processes of the jobs.
    """
    save, train = "                    self.save_checkpoint()\n", "    trainer_obj.train()\n"
    wait = f'{save}                    time.sleep(600 if "STUCK" in os.environ else 0)\n'
    folder = code(
        Edit("trainer.py", "ckpt_seconds = 30", "ckpt_seconds = 0"),
        Edit("trainer.py", save, wait),
        Edit("helper.py", train, f"    trainer_obj.config.max_epochs = 2\n{train}"),
    )
    monkeypatch.setenv("STUCK", "1")
    with open(tmp_path / "said", "wb") as said:
        process = start("demo", folder, tmp_path / "out", stdout=said, stderr=said)
    monkeypatch.delenv("STUCK")  # what resumes it goes on
    wait_until(lambda: process.poll() or len([*(tmp_path / "out").glob("*.pretrain.ckpt")]) == 2)
    children = [pid for pid in descendants(process.pid) if "--part" in command_of(pid)]
    assert len(children) == 2
    yield process, tmp_path, children
    process.kill()
    process.wait()


@pytest.mark.full
def test_ctrl_c_and_resume_with_another_number_of_jobs(stuck):
    process, folder, children = stuck
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    assert process.wait(60) == 130 and not any(map(is_running, children))
    said, out = (folder / "said").read_text(encoding="utf-8"), folder / "out"
    for variant in ("vanilla", "rope"):
        message = f"{variant}_pretrain was interrupted; {out}/{variant}.pretrain.params was not "
        assert said.count(f"{message}written. The same command with --resume continues.") == 1
    assert "Traceback" not in said
    command = ("demo", *SMOKE, "--submission", folder / "code", "--out", out, "--resume")
    process = run_cli(*command, "--jobs", 1)
    assert process.returncode == 0
    for variant in ("vanilla", "rope"):  # not from scratch
        assert f"{variant}_pretrain continues from " in process.stdout
    target = "rope_pretrain"  # never interrupted, and alone
    alone = ("--submission", folder / "code", "--out", folder / "alone", "--resume")
    assert run_cli(target, *SMOKE, *alone).returncode == 0
    assert same(out, folder / "alone", JOBS[target])


@pytest.mark.full
def test_no_job_outlives_a_killed_run(stuck):
    process, _, children = stuck
    process.kill()
    wait_until(lambda: not any(map(is_running, children)))


def test_a_terminated_training_keeps_a_checkpoint_to_resume_from(code, tmp_path):
    """As Slurm and systems that shut down end it: without a word."""
    save = "                    self.save_checkpoint()\n"
    end = f'{save}                    os.kill(os.getpid(), 15) if "STOP" in os.environ else 0\n'
    folder = code(
        Edit("trainer.py", "ckpt_seconds = 30", "ckpt_seconds = 0"), Edit("trainer.py", save, end)
    )
    command = ("vanilla_pretrain", *SMOKE, "--submission", folder, "--out", tmp_path / "out")
    with mock.patch.dict(os.environ, STOP="1"):
        assert run_cli(*command).returncode == -signal.SIGTERM
    process = run_cli(*command, "--resume")
    assert process.returncode == 0 and "vanilla_pretrain continues from " in process.stdout
    assert (tmp_path / "out" / "vanilla.pretrain.params").exists()
