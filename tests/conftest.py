"""What the tests share: the reference solution as a package, a small world, the command line, and
the handout.
"""

import contextlib
import io
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from unittest import mock

# before torch: tests run side by side, and threads would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
# staff's rounds for tests: fewer than for grading, in a folder of their own
os.environ.setdefault("STAFF_ROUNDS", "3")

import pytest  # noqa: E402

warnings.filterwarnings("ignore", category=EncodingWarning, module="torch")
import torch  # noqa: E402

from small_training import Counting  # noqa: E402

# in a shell's background, processes that tests start would also ignore Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# under nohup, they would outlive their terminal
if getattr(signal, "SIGHUP", None) and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "instructor" / "solution"
RESULTS = ROOT / "instructor" / "results"
STARTER = ROOT / "src" / "submission"
DATA = ROOT / "data" / "laptop"


def manifest_text():
    """The manifest and its parts as one file."""
    paths = (ROOT / "src" / "checks").rglob("manifest.toml")
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))


def pytest_addoption(parser):
    """By default, what is marked `full` is left out; `-m full` runs only that."""
    parser.addoption("--full", action="store_true", help="run all tests, those marked full too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What builds the handout takes half a minute. The longest tests begin first, so that no
    process waits for them at the end.
    """
    for item in items:
        if "handout" in item.fixturenames:
            item.add_marker("full")
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)


def pytest_xdist_setupnodes():
    """Let Python warn, in the processes of tests, where a text's encoding is left to the system."""
    os.environ["PYTHONWARNDEFAULTENCODING"] = "1"


if "PYTEST_XDIST_WORKER" in os.environ:  # programs that tests start write no warnings
    os.environ.pop("PYTHONWARNDEFAULTENCODING", None)


MAKE_ROUNDS = """
from instructor.checks import secret, solving
secret.staff_rounds(solving.all_questions())
"""


def pytest_configure(config):
    """Make staff's rounds, once for all processes; leave out what is marked `full`; and make an
    EncodingWarning an error in our code: ruff sees a missing encoding only where a file is plainly
    a file.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        subprocess.run([sys.executable, "-c", MAKE_ROUNDS], cwd=ROOT, check=True)
    marks = config.option.markexpr
    if not config.getoption("--full") and "full" not in marks:
        config.option.markexpr = f"({marks}) and not full" if marks else "not full"
    folders = (ROOT / name for name in ("src", ".", "tests", "tests/checks"))
    names = {path.stem for folder in folders for path in folder.iterdir()}
    ours = "|".join([*sorted(map(re.escape, names)), r"test_\w+"])
    config.addinivalue_line("filterwarnings", "ignore::EncodingWarning")
    config.addinivalue_line("filterwarnings", rf"error::EncodingWarning:({ours})\b.*")


def lack(what, how, required):
    """Skip a test for want of something that comes from outside Python, or fail it where CI says
    that it is there.

    Args:
        what: what it needs. how: why that is not here, and how to get it.
    """
    (pytest.fail if required else pytest.skip)(f"needs {what}: {how}")


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were skipped for want of what, and how to get it."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    for reason, count in Counter(reasons).most_common():
        if reason.startswith("Skipped: needs "):
            what = reason.removeprefix("Skipped: needs ")
            terminalreporter.write_line(f"{count} skipped for want of {what}")


def require_level(name=None):
    """The isolation level of that name, or the strongest. If it doesn't work, the test is skipped,
    or fails if the variable REQUIRE_LEVELS lists the level.
    """
    from autograder.trial import Unavailable, choose

    required = os.environ.get("REQUIRE_LEVELS", "").split()
    try:
        isolation = choose(name)
        if name is None and not isolation.strong:
            raise Unavailable(isolation.reason)
        return isolation
    except Unavailable as error:
        what, how = name or "a strong isolation level", str(error).removeprefix(f"{name}: ")
        lack(what, how, name in required or not name and required)


LANDLOCK = pytest.param("landlock", marks=pytest.mark.landlock)


@pytest.fixture(
    scope="module", params=["bubblewrap", LANDLOCK, pytest.param("limits", marks=pytest.mark.full)]
)
def level(request):
    """Each isolation level."""
    return require_level(request.param)


@pytest.fixture(scope="module")
def folder():
    """An open folder for the tests of a module."""
    from proof import open_folder

    with open_folder() as path:
        yield path


@pytest.fixture(scope="module")
def browser():
    """A real browser (tests/browser.py)."""
    from browser import chromium

    with chromium() as started:
        yield started


def pytest_runtest_setup(item):
    """Tests marked as `landlock` run where it works."""
    if item.get_closest_marker("landlock"):
        require_level("landlock")


@pytest.fixture
def submission():
    """The reference solution, imported as run.py imports a submission."""
    from jobs.package import load_submission

    return load_submission(SOLUTION)


@pytest.fixture
def seed():
    """A fresh seed for every run; a failure prints it. SEED=VALUE repeats it."""
    value = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**31))
    random.seed(value)
    torch.manual_seed(value)
    print(f"seed: repeat it with SEED={value}")
    return value


@pytest.fixture
def tiny_model(submission):
    """A function that makes a small GPT in eval mode: (vocab_size, block_size, rope) -> GPT."""

    def make(vocab_size, block_size, rope, n_layer=2, n_head=3, n_embd=24, **kwargs):
        config = submission.GPTConfig(
            vocab_size,
            block_size,
            n_layer=n_layer,
            n_head=n_head,
            n_embd=n_embd,
            rope=rope,
            **kwargs,
        )
        model = submission.GPT(config)
        # weights of a trained model's size, so that mistakes show in the logits
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
        return model.eval()

    return make


@pytest.fixture
def fresh(submission):
    """A function that makes a trainer of a new small model, always the same; settings are keywords."""

    def make(dataset=None, rope=False, init=5, **settings):
        torch.manual_seed(init)
        model = submission.GPT(
            submission.GPTConfig(11, 14, n_layer=1, n_head=2, n_embd=8, rope=rope)
        )
        defaults = {
            "max_epochs": 4,
            "batch_size": 8,
            "learning_rate": 1e-2,
            "lr_decay": True,
            "warmup_tokens": 50,
            "final_tokens": 4 * 37 * 14,
            "device": "cpu",
            "progress": False,
            "log_every": 3,
        }
        return submission.Trainer(
            model, dataset or Counting(), None, submission.TrainerConfig(**{**defaults, **settings})
        )

    return make


def copy_reference(folder):
    """Copy the reference with its results into a new folder, like a submission; returns it."""
    shutil.copytree(SOLUTION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return shutil.copytree(RESULTS, folder, dirs_exist_ok=True)


def run_cli(*args, cwd=ROOT):
    """Run src/run.py with one thread, in a fork of this process, which has imported torch; returns
    the finished process, its output as text.
    """
    words = [*map(str, args)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        fork = multiprocessing.get_context("fork").Process(
            target=_run_in_fork, args=(words, cwd, out.fileno(), err.fileno())
        )
        fork.start()
        fork.join()
        for file in (out, err):
            file.seek(0)
        texts = (file.read().decode().replace("\r\n", "\n") for file in (out, err))
        return subprocess.CompletedProcess(words, fork.exitcode, *texts)


def _run_in_fork(words, cwd, out, err):
    """Replace the output of this process by files, and end as run.main() does."""
    import run

    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))
    torch.set_num_threads(1)
    os.chdir(cwd)
    sys.argv = [str(ROOT / "src" / "run.py"), *words]
    sys.exit(run.main())


def call(main, *arguments, cwd=ROOT, **environment):
    """Run a command line's main() in this process, which has imported torch; returns what a process
    of its own would: exit code and output.
    """
    words = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["", *words]),
        mock.patch.object(sys, "path", [*sys.path]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main()
        except SystemExit as exit:
            code = exit.code
    return subprocess.CompletedProcess(words, code or 0, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def process():
    """A student's process for all gradings by tests that start none of their own."""
    from proof import start_process

    with start_process() as process:
        yield process


@pytest.fixture(scope="session")
def worker(process):
    """The same, as a worker that grades as the grader does."""
    from proof import STAGED

    from checks.support.session import GradingWorker, Setting

    class Warm(GradingWorker):
        def __init__(self):
            self.setting, self.served = Setting(), 0
            self.folder, self.processes = Path(STAGED.name), [process]

        def close(self):
            """Leave it to the next test."""

    return Warm()


@pytest.fixture
def warm(worker, monkeypatch):
    """Let all gradings in this process use that worker, except to debug."""
    from checks.support import session
    from instructor.grading import work

    start = session.GradingWorker
    monkeypatch.setattr(
        session, "GradingWorker", lambda setting, *more: start(setting) if setting.debug else worker
    )
    monkeypatch.setattr(work, "_worker", lambda setting: worker)
    return worker


def require_tools(*names):
    """Skip a test if a program is missing, or fail it if REQUIRE_TEX says that all are there."""
    if missing := [name for name in names if not shutil.which(name)]:
        how = "handout/README.md lists the packages"
        lack(", ".join(missing), how, os.environ.get("REQUIRE_TEX"))


@pytest.fixture(scope="session")
def handout(tmp_path_factory):
    """The folder with the students' editions of the handout, built once for all workers."""
    return build_once(tmp_path_factory, "handout.pdf", "submission.pdf", "handout.html")


@pytest.fixture(scope="session")
def solutions(handout, tmp_path_factory):
    """The same folder, with the solutions."""
    return build_once(tmp_path_factory, "solutions.pdf")


def build_once(tmp_path_factory, *names):
    """Build files of the handout in a folder that all workers share; returns it."""
    import fcntl

    from instructor.release.handout import TOOLS, make

    require_tools(*TOOLS)
    top = tmp_path_factory.getbasetemp()
    build = (top.parent if os.environ.get("PYTEST_XDIST_WORKER") else top) / "handout"
    build.mkdir(exist_ok=True)
    with open(build / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make(build, names)
    return build
