"""Run jobs of problem 1 at the same time, in processes that take one job after another.

What a failure leaves is what it leaves one after the other: the jobs before it are completed, those
after it end. Each job prints into a log of its own, which is shown when the job ends.
"""

import contextlib
import multiprocessing
import os
import re
import signal
import sys
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path

import torch
from tqdm import tqdm

from common.files import Interrupted, UserError, write_text
from common.processes import end_with_parent, without_ctrl_c
from jobs.errors import explain, killed, with_code
from jobs.made_from import earlier
from jobs.problem1.run_job import Result, run_job
from jobs.problem1.schedule import LENGTHS, first_ready, longest_first
from jobs.targets import Job

GONE_SECONDS = 10  # from the end of its pipe to that of a process


@dataclass
class _Worker:
    """A process, and the job that it runs, if any. `share` is the part of the job that is done,
    from 0 to 1; what it prints begins at byte `start` of the log.
    """

    process: multiprocessing.Process
    pipe: connection.Connection
    job: Job | None = None
    log: Path | None = None
    start: int = 0
    share: float = 0.0
    stopped: bool = False

    def give(self, job: Job, log: Path) -> None:
        """Have it run a job."""
        self.job, self.log, self.start, self.share = job, log, log.stat().st_size, 0.0
        with contextlib.suppress(OSError):  # it is gone, as will be noticed
            self.pipe.send((job, log))

    def stop(self) -> None:
        """Interrupt it, as Ctrl-C would; it then takes no more jobs."""
        if not self.stopped:
            self.process.terminate()
        self.stopped = True

    def printed(self) -> str:
        """What the job has printed, with a progress bar only in its last state."""
        text = self.log.read_bytes()[self.start :].decode("utf-8", errors="replace")
        text = re.sub(r"\r[^\r\n]*%\|[^\r\n]*(?=\r)", "", text.replace("\r\n", "\n"))
        return re.sub(r"(?m)^\r", "", text).rstrip()

    def why_silent(self) -> UserError:
        """The error of a job whose process is gone, or no longer answers."""
        self.process.join(GONE_SECONDS)
        self.process.kill()  # if its code has closed the pipe
        self.process.join()
        code, target = self.process.exitcode, self.job.target
        if self.stopped:
            return Interrupted(f"{target} was interrupted. --resume continues.")
        if code < 0:
            return killed(target, -code)
        return with_code(code, f"{target} ended by itself, with exit code {code}.")


class SideBySide:
    """Runs jobs; the arguments are those of schedule.run_all, and the threads of each job."""

    def __init__(self, jobs, options, at_once, threads, title, may_skip, finished):
        self.options, self.at_once, self.threads = options, at_once, threads
        self.title, self.may_skip, self.finished = title, may_skip, finished
        self.place = {job: place for place, job in enumerate(jobs)}
        self.waiting, self.workers = longest_first(jobs), []
        self.failed = []  # (job, what it printed, its error)
        self.interrupts = 0  # how often Ctrl-C was pressed
        self.logs = options.out / "runs"

    @property
    def busy(self) -> list[_Worker]:
        """The workers that run a job."""
        return [worker for worker in self.workers if worker.job is not None]

    def run(self) -> None:
        """Run all jobs.

        Raises:
            UserError: of the first job that failed, or after Ctrl-C.
        """
        print(
            f"{len(self.waiting)} jobs, up to {self.at_once} at the same time, {self.threads} "
            f"thread{'s' * (self.threads > 1)} each. Each prints here when it ends, and meanwhile "
            f"into {self.logs / 'TARGET.log'}",
            flush=True,
        )
        new = not self.options.out.exists()
        with (
            self._counting_interrupts(),
            tqdm(
                total=sum(LENGTHS[job.kind] for job in self.waiting),
                bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
                smoothing=0,
                dynamic_ncols=True,
                disable=None,  # only a terminal shows it
            ) as self.bar,
        ):
            try:
                while self._start() or self.busy:
                    self._listen()
            finally:
                for worker in self.workers:
                    if worker.job is not None:
                        worker.process.kill()
                    worker.pipe.close()  # an idle one then ends
                for worker in self.workers:
                    worker.process.join()
                # files and folders of jobs that were refused, in which nothing is
                with contextlib.suppress(OSError):
                    for log in self.logs.glob("*.log"):
                        if not log.stat().st_size:
                            log.unlink()  # now that no process has it open
                    self.logs.rmdir()
                    if new:
                        self.options.out.rmdir()
        self._raise()

    def _start(self) -> bool:
        """Start the jobs that can; returns whether there was one."""
        started = False
        while len(busy := self.busy) < self.at_once:
            job = first_ready(self.waiting, [worker.job for worker in busy])
            if job is None:
                break
            self.waiting.remove(job)
            done, told = earlier(job, self.options)
            if done and self.may_skip(job):
                self.bar.total -= LENGTHS[job.kind]
                self._say(f"\n{told}")
                continue
            if told and not done:
                self._say(f"\n{told}")
            log = self.logs / f"{job.target}.log"
            if not (self.options.resume and log.exists()):
                write_text(log, "")
            idle = [worker for worker in self.workers if worker.job is None and not worker.stopped]
            (idle[0] if idle else self._new_worker()).give(job, log)
            started = True
        return started

    def _new_worker(self):
        context = multiprocessing.get_context("spawn")
        pipe, other = context.Pipe()
        process = context.Process(target=_work, args=(self.options, self.threads, other))
        with without_ctrl_c():
            process.start()
        other.close()
        self.workers.append(_Worker(process, pipe))
        return self.workers[-1]

    def _listen(self):
        """Wait for news of the jobs, at most half a second."""
        connection.wait([worker.pipe for worker in self.busy], timeout=0.5)
        for worker in self.busy:
            while worker.job is not None:
                try:
                    if not worker.pipe.poll():
                        break
                    message = worker.pipe.recv()
                except (EOFError, OSError):
                    self.workers.remove(worker)
                    message = worker.why_silent()
                self._hear(worker, message)
        if self.interrupts == 1:
            self._stop_from(-1)
        elif self.interrupts > 1:
            for worker in self.busy:
                worker.process.kill()
        self.bar.set_postfix_str(
            ", ".join(f"{worker.job.target} {worker.share:.0%}" for worker in self.busy)
        )

    def _hear(self, worker, message):
        if not isinstance(message, float):
            self._ended(worker, message)
            return
        news = (message - worker.share) * LENGTHS[worker.job.kind]
        if not worker.share and not self.bar.disable:
            self.bar.initial += news  # perhaps of an earlier, interrupted run
        worker.share = message
        self.bar.update(news)

    def _ended(self, worker, outcome):
        job, printed = worker.job, worker.printed()
        if isinstance(outcome, Result):
            self.bar.update((1 - worker.share) * LENGTHS[job.kind])
            self._show(job, printed)
        else:
            self.failed.append((job, printed, outcome))
        worker.job = None
        if isinstance(outcome, Result):
            self.finished(outcome)
        elif not worker.stopped:
            self._stop_from(-1 if isinstance(outcome, Interrupted) else self.place[job])
            if any(not other.stopped for other in self.busy):
                self._say(
                    f"\n{job.target} has failed:\n{outcome}\nThe jobs before it go on; Ctrl-C "
                    "stops them."
                )

    def _stop_from(self, place):
        """Run no job from this place on."""
        self.waiting = [job for job in self.waiting if self.place[job] < place]
        for worker in self.busy:
            if self.place[worker.job] > place:
                worker.stop()

    def _raise(self):
        """Show the jobs that have failed or were stopped, and raise the error of the first that
        failed, or of all after Ctrl-C.
        """
        self.failed.sort(key=lambda failure: -self.place[failure[0]])
        for job, printed, _ in self.failed:
            self._show(job, printed)
        if self.interrupts:
            told = [str(error) for *_, error in self.failed if isinstance(error, Interrupted)]
            raise Interrupted("\n".join(dict.fromkeys(reversed(told))) or "Interrupted.")
        if self.failed:
            raise self.failed[-1][2]

    def _show(self, job, printed):
        self._say(f"\n{self.title(job)}\n{printed}".rstrip())

    def _say(self, text):
        self.bar.write(text, file=sys.stdout)
        sys.stdout.flush()

    @contextlib.contextmanager
    def _counting_interrupts(self):
        """Count Ctrl-C instead of raising KeyboardInterrupt anywhere."""

        def count(*_):
            self.interrupts += 1

        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, count)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _work(options, threads, pipe) -> None:
    """In a process of its own, run the jobs that come, and send the parent the parts that are done,
    and in the end of each a Result or a UserError.
    """
    end_with_parent()
    # the parent sends it for Ctrl-C: a job can then say what is kept
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    torch.set_num_threads(threads)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            job, log = pipe.recv()
            _print_into(log)
            try:
                outcome = run_job(job, options, pipe.send)
            except (Exception, KeyboardInterrupt) as error:
                outcome = explain(error)
            sys.stdout.flush()
            pipe.send(outcome)


def _print_into(log):
    """Have all that this process prints, also from C, go into a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # anew: Python's streams for a Windows console write to nothing else
    sys.stdout, sys.stderr = (
        open(fd, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        for fd in (1, 2)
    )
