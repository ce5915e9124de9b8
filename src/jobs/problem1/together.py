"""`all` and `demo`: jobs as commands of their own, several at the same time.

What a failure leaves is what it leaves one after the other: the jobs before it are completed, those
after it end.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from tqdm import tqdm

from common.cores import cores
from common.files import Interrupted, UserError, write_text
from common.processes import without_ctrl_c
from jobs.options import ROOT, Options
from jobs.records import earlier, read_record
from jobs.targets import Job

# How long a job takes, in hundredths of a pretraining of the preset laptop.
LENGTHS = {"pretrain": 100, "finetune": 2, "evaluate": 1}


@dataclass
class _Command:
    """A job that runs: its place among all, its process, and what it prints into, from byte `start`
    on. Without a log, it prints where this program does.
    """

    job: Job
    place: int
    process: subprocess.Popen
    log: Path | None
    start: int
    stopped: bool = False

    def _read(self, most: int = -1) -> str:
        """What the job has printed, or the end of it; "" if the log is gone."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self.start, size - most) if most >= 0 else self.start)
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def printed(self) -> str:
        """What the job has printed, with a progress bar only in its last state."""
        text = self._read()
        text = re.sub(r"\r[^\r\n]*%\|[^\r\n]*(?=\r)", "", text.replace("\r\n", "\n"))
        return re.sub(r"(?m)^\r", "", text).rstrip()

    def percent(self) -> int:
        """How much of the job is done, by the last state of its progress bar."""
        shown = re.findall(r"(\d+)%\|", self._read(2000)) if self.log else []
        return int(shown[-1]) if shown else 0

    def why_failed(self) -> UserError:
        """The error of a job that failed, and has said why, or was killed."""
        code, target = self.process.returncode, self.job.target
        if code < 0:
            return UserError(
                f"{target} was killed from outside (signal {-code}"
                f"{', perhaps out of memory' * (code == -9)}). The same command with --resume "
                "continues."
            )
        return UserError(f"{target} ended with exit code {code}.", code)


def jobs_at_once(wanted: int | None, options: Options) -> int:
    """How many jobs run at the same time: if the user doesn't say, as many as there are cores, or
    one where a job uses several cores or the GPU.
    """
    alone = options.device != "cpu" or options.preset.threads is None
    return wanted or (1 if alone else cores())


class Together:
    """Runs jobs, up to `at_once` at the same time, each as soon as what it reads is written. Each
    prints into OUT/runs/TARGET.log, and here when it ends; one at a time prints here at once.

    Threads of one small training wait for each other after every product, so two trainings of one
    thread each get more done than one with two threads. So jobs of the preset laptop have one
    thread each, whatever at_once is: with several, sums would differ in their last bits.

    Args:
        recorded: a result without a record is made again, too.
    """

    def __init__(self, jobs: list[Job], options: Options, at_once: int, recorded: bool = False):
        self.jobs, self.options, self.at_once, self.recorded = jobs, options, at_once, recorded
        self.threads = 1 if options.preset.threads else max(1, torch.get_num_threads() // at_once)
        # the longest first, so that no core waits for one at the end
        self.waiting = [*jobs]
        if at_once > 1:
            self.waiting.sort(key=lambda job: -LENGTHS[job.kind])
        self.running, self.failed = [], []
        self.done = 0  # as LENGTHS

    def run(self) -> None:
        """Run all jobs.

        Raises:
            UserError: of the first job that failed, with its exit code; or after Ctrl-C.
        """
        out, runs = self.options.out, self.options.out / "runs"
        is_new = not out.exists()
        with contextlib.suppress(OSError):  # as the first job will tell
            runs.mkdir(parents=True, exist_ok=True)  # it shows that a demo has begun
        if self.at_once > 1:
            print(
                f"{len(self.jobs)} jobs, up to {self.at_once} at the same time, {self.threads} "
                f"thread{'s' * (self.threads > 1)} each. Each prints here when it ends, and "
                f"meanwhile into {runs / 'TARGET.log'}",
                flush=True,
            )
        with tqdm(
            total=sum(LENGTHS[job.kind] for job in self.jobs),
            bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
            smoothing=0,
            dynamic_ncols=True,
            disable=None if self.at_once > 1 else True,  # only a terminal shows it
        ) as self.bar:
            try:
                while self._start() or self.running:
                    time.sleep(0.1)
                    self._look()
                self._report()
            except KeyboardInterrupt:
                self._stop(self.running)
                self._say("\nInterrupted: the jobs end. Ctrl-C again kills them.")
                for command in self.running:
                    command.process.wait()
                    self._show(command)
                raise Interrupted("The same command with --resume continues.") from None
            finally:
                for command in self.running:  # after a second Ctrl-C, or an error of ours
                    command.process.kill()
                    command.process.wait()
                made = {path.suffix for path in out.rglob("*") if path.is_file()}
                if is_new and self.failed and made <= {".log"}:  # all was refused
                    shutil.rmtree(out, ignore_errors=True)
                with contextlib.suppress(OSError):  # there is something in it
                    runs.rmdir()

    def _report(self):
        """Show the jobs that have failed or were stopped, and raise the error of the first."""
        if not self.failed:
            return
        *others, first = sorted(self.failed, key=lambda command: -command.place)
        error = first.why_failed()
        if first.log:  # else it has printed the rest
            printed = first.printed()
            for command in others:
                # else it is the same cause
                if command.printed().splitlines()[-1:] != printed.splitlines()[-1:]:
                    self._show(command)
            error = UserError(f"{self._title(first.job)}\n{printed}\n{error}", error.exit_code)
        raise error

    def _start(self) -> bool:
        """Start the jobs that can; returns whether there was one."""
        started = False
        while len(self.running) < self.at_once:
            unwritten = {command.job.writes for command in self.running}
            unwritten |= {job.writes for job in self.waiting}
            job = next((job for job in self.waiting if job.reads not in unwritten), None)
            if job is None:
                break
            self.waiting.remove(job)
            options = self.options
            state, told = earlier(job, options)
            if state == "done" and self.recorded and read_record(options.out / job.writes) is None:
                state, options = "", replace(options, resume=False)
            if state == "done":
                self.done += LENGTHS[job.kind]
                self._say(f"\n{told}")
            else:
                self.running.append(self._command(job, options))
            started = True
        return started

    def _command(self, job, options):
        command = [sys.executable, str(ROOT / "src" / "run.py"), job.target]
        command += [*options.as_arguments(), "--part", str(self.threads)]
        log, start, streams = None, 0, {}
        if self.at_once == 1:
            self._say(f"\n{self._title(job)}")
        else:
            log = options.out / "runs" / f"{job.target}.log"
            if not (options.resume and log.exists()):
                write_text(log, "")
            start = log.stat().st_size
        with contextlib.ExitStack() as stack:
            if log:
                streams = {
                    "stdout": stack.enter_context(log.open("ab")),
                    "stderr": subprocess.STDOUT,
                    "stdin": subprocess.DEVNULL,
                }
            stack.enter_context(without_ctrl_c())
            process = subprocess.Popen(command, **streams)
        return _Command(job, self.jobs.index(job), process, log, start)

    def _look(self):
        """See how far the jobs are, and which have ended."""
        for command in [c for c in self.running if c.process.poll() is not None]:
            self.running.remove(command)
            if command.process.returncode == 0:
                self.done += LENGTHS[command.job.kind]
                self._show(command)
                continue
            self.failed.append(command)
            place = min(failed.place for failed in self.failed)
            self.waiting = [job for job in self.waiting if self.jobs.index(job) < place]
            self._stop([other for other in self.running if other.place > place])
            if command.place == place and any(other.place < place for other in self.running):
                self._say(
                    f"\n{command.job.target} has failed. The jobs before it go on; Ctrl-C stops "
                    "them."
                )
        shares = [(c.percent(), c.job) for c in self.running]
        self.bar.n = self.done + sum(LENGTHS[job.kind] * share / 100 for share, job in shares)
        self.bar.set_postfix_str(", ".join(f"{job.target} {share}%" for share, job in shares))

    def _stop(self, commands):
        """Interrupt jobs, as Ctrl-C would: each says what is kept."""
        for command in commands:
            if not command.stopped:  # a second signal would hit it while it ends
                command.process.terminate()
            command.stopped = True

    def _show(self, command):
        if command.log:
            self._say(f"\n{self._title(command.job)}\n{command.printed()}".rstrip())

    def _title(self, job):
        return f"[{self.jobs.index(job) + 1}/{len(self.jobs)}] {job.target}"

    def _say(self, text):
        self.bar.write(text, file=sys.stdout)
        sys.stdout.flush()
