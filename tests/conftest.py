"""Fixtures that tests share, and which tests run."""

import os
import random
import re
import signal
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

# before torch: tests run side by side, and threads would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
# staff's rounds for tests: fewer than for grading, in a folder of their own
os.environ.setdefault("STAFF_ROUNDS", "3")

import pytest  # noqa: E402

warnings.filterwarnings("ignore", category=EncodingWarning, module="torch")
import torch  # noqa: E402

from helpers import ROOT, SOLUTION, Counting, require_level, require_tools  # noqa: E402

# in a shell's background, processes that tests start would also ignore Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# under nohup, they would outlive their terminal
if getattr(signal, "SIGHUP", None) and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    """By default, what is marked `full` is left out; `-m full` runs only that."""
    parser.addoption("--full", action="store_true", help="run all tests, those marked full too")
    parser.addoption(
        "--seed", type=int, help="of all random inputs; the first line has a run's own"
    )
    # a signal may come while a command under test answers Ctrl-C in its own way
    parser.addoption("--until", type=Path, help="end after the test in which this file appears")


def pytest_report_header(config):
    """Say which seed repeats this run."""
    return f"random inputs: repeat them with --seed {config.option.seed}"


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
import sys
from instructor.checks import secret, solving
seed = None if secret.SEED.is_file() else int(sys.argv[1])
secret.staff_rounds(solving.all_questions(), seed)
"""


def pytest_configure(config):
    """Make staff's rounds, once for all processes; leave out what is marked `full`; and make an
    EncodingWarning an error in our code: ruff sees a missing encoding only where a file is plainly
    a file.
    """
    if config.option.seed is None:  # processes of xdist are given the options of the first
        config.option.seed = random.SystemRandom().randrange(2**31)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        words = [sys.executable, "-c", MAKE_ROUNDS, str(config.option.seed)]
        subprocess.run(words, cwd=ROOT, check=True)
    config.option.hypothesis_seed = config.option.seed
    marks = config.option.markexpr
    if not config.getoption("--full") and "full" not in marks:
        config.option.markexpr = f"({marks}) and not full" if marks else "not full"
    folders = (ROOT / name for name in ("src", ".", "tests", "tests/checks"))
    names = {path.stem for folder in folders for path in folder.iterdir()}
    ours = "|".join([*sorted(map(re.escape, names)), r"test_\w+"])
    config.addinivalue_line("filterwarnings", "ignore::EncodingWarning")
    config.addinivalue_line("filterwarnings", rf"error::EncodingWarning:({ours})\b.*")


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were skipped for want of what, and how to get it."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    for reason, count in Counter(reasons).most_common():
        if reason.startswith("Skipped: needs "):
            what = reason.removeprefix("Skipped: needs ")
            terminalreporter.write_line(f"{count} skipped for want of {what}")


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


def pytest_runtest_teardown(item):
    """End where --until says."""
    if item.config.option.until and item.config.option.until.exists():
        item.session.shouldstop = "enough"


def pytest_runtest_setup(item):
    """Tests marked as `landlock` run where it works."""
    if item.get_closest_marker("landlock"):
        require_level("landlock")


@pytest.fixture
def submission():
    """The reference solution, imported as run.py imports a submission."""
    from jobs.package import load_submission

    return load_submission(SOLUTION)


@pytest.fixture(autouse=True)
def seed(request):
    """The seed of this run, from which each test has draws of its own. A failure prints it."""
    value = request.config.option.seed
    random.seed(f"{value} {request.node.nodeid}")
    torch.manual_seed(random.randrange(2**63))
    print(f"random inputs: repeat them with --seed {value}")
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
    """A function that makes a trainer of a small model, in one test always the same; settings are
    keywords.
    """
    init = random.randrange(2**63)

    def make(dataset=None, rope=False, **settings):
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
    monkeypatch.setattr(work, "worker_for", lambda setting: worker)
    return worker


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
