"""The jobs, run as a user runs them: what works, what is refused, and with which words."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import torch

import run
from helpers import DATA, ROOT, SOLUTION, STARTER, call, run_cli
from instructor.mistakes.patches import Edit, Text
from jobs.presets import GPU, LAPTOP
from jobs.targets import JOBS

SMOKE = ("--preset", "smoke", "--submission", SOLUTION)


@pytest.fixture
def data(tmp_path):
    """A copy of the laptop data that a test may damage."""
    return shutil.copytree(DATA, tmp_path / "data")


@pytest.fixture
def mine(code):
    """A function that writes the reference with changes, and returns the options that run it at
    smoke size.
    """
    return lambda *changes: ("--preset", "smoke", "--submission", code(*changes))


def refused(process, *words, code=2):
    """Assert a refusal: the exit code, a sentence with these words, no traceback."""
    assert process.returncode == code, process.stdout + process.stderr
    lines = [line for line in process.stderr.strip().splitlines() if "batch/s" not in line]
    assert "Traceback" not in process.stderr and len(lines) <= 3
    for word in words:
        assert word in process.stderr
    return process.stderr


PARTS = [
    ("vanilla_pretrain", "1d: initialize_vanilla_model"),
    ("rope_pretrain", "1h: initialize_rope_model"),
    ("show_corruption", "1c: CharCorruptionDataset"),
    ("encoder_copy", "5[def]: "),
    ("encoder_report", "5[defg]: "),
    ("practice_monitor", "6f: Monitor"),
]


@pytest.mark.parametrize(("target", "part"), PARTS)
def test_the_starter_is_told_what_is_missing_and_where(target, part, tmp_path):
    process = run_cli(target, "--preset", "smoke", "--submission", STARTER, "--out", tmp_path)
    said = refused(process, str(STARTER), code=3)
    assert re.search(f"Not implemented yet: {part}", said) and not any(tmp_path.iterdir())


@pytest.mark.parametrize("target", [t for t, job in JOBS.items() if job.reads])
def test_a_missing_input_names_the_target_that_makes_it(target, tmp_path):
    message = refused(run_cli(target, *SMOKE, "--out", tmp_path), JOBS[target].reads)
    maker = next(job.target for job in JOBS.values() if job.writes == JOBS[target].reads)
    assert f"./run.sh {maker}" in message and not any(tmp_path.iterdir())


COMMANDS = [
    ("vanila_pretrain", "Did you mean vanilla_pretrain"),
    ("qqqqq", "./run.sh help"),
    (f"rope_pretrain --seed {'9' * 400}", "must be a whole number from 0"),
    ("rope_pretrain --preset big", "'laptop'"),
    ("rope_pretrain --sed 1", "--sed"),
    ("rope_pretrain --device cpu:7", "no such device here. Available: cpu"),
    ("rope_pretrain --data /nowhere", "--data"),
    ("rope_pretrain --submission {folder}", "not a submission"),
    ("rope_pretrain --jobs 2", "is one job. Leave it out"),
    ("all --jobs 0", "must be a whole number from 1 to 1024"),
]


@pytest.mark.parametrize(("command", "words"), COMMANDS)
def test_what_cannot_be_run_is_said_at_once(command, words, tmp_path):
    target, *more = command.format(folder=tmp_path).split()
    refused(call(run.main, target, *SMOKE, "--out", tmp_path / "new", *more), words)
    assert not (tmp_path / "new").exists()


def test_results_that_cannot_be_written_are_refused_before_the_training(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        process = run_cli("vanilla_finetune_without_pretrain", *SMOKE, "--out", out)
        assert "batch/s" not in refused(process, "cannot be written", "--out")


def rewrite(path, change):
    path.write_bytes(change(path.read_bytes()))


CORPUS = ("vanilla_pretrain", "wiki.txt")
PLACES = ("vanilla_finetune_without_pretrain", "birth_places_train.tsv")
DEV = ("rope_eval_dev_with_pretrain", "birth_dev.tsv")
TEST = ("rope_eval_test_with_pretrain", "birth_test_inputs.tsv")
BAD_DATA = [
    (*CORPUS, None, "does not exist"),
    (*CORPUS, lambda b: b"\n \n", "is empty"),
    (*CORPUS, lambda b: b[:100] + b"\xff" + b[100:], "not UTF-8"),
    (*CORPUS, lambda b: b.replace(b"\n", "\u2047\n".encode(), 1), "line 1"),
    (*PLACES, lambda b: b.replace(b"\t", b" ", 1), "line 1: expected"),
    (*PLACES, lambda b: b + b"Where was X born?\t\n", "line 81: expected"),
    (*PLACES, lambda b: b.replace(b"was ", b"was " + b"a" * 80, 1), "reads only 81"),
    (*PLACES, lambda b: b.replace(b"was ", "was Ω".encode(), 1), "'Ω' (U+03A9)"),
    (*DEV, lambda b: b.replace(b"\t", b" ", 1), "line 1: expected"),
    (*TEST, lambda b: b"\xef\xbb\xbf" + b, "byte order mark"),
]


@pytest.mark.parametrize(("target", "name", "change", "words"), BAD_DATA)
def test_bad_data_is_refused_whole(results, data, target, name, change, words):
    if change is None:
        (data / name).unlink()
    else:
        rewrite(data / name, change)
    written = results / JOBS[target].writes
    before = written.read_bytes()
    refused(run_cli(target, *SMOKE, "--out", results, "--data", data), str(data / name), words)
    assert written.read_bytes() == before and not list(results.glob("*.tmp"))


def test_windows_line_ends_and_a_missing_last_newline_are_fine(demo, data, tmp_path):
    for path in data.iterdir():
        rewrite(path, lambda b: b.rstrip(b"\n").replace(b"\n", b"\r\n"))
    jobs = ("vanilla_finetune_without_pretrain", "vanilla_eval_dev_without_pretrain")
    for target in jobs:
        assert run_cli(target, *SMOKE, "--out", tmp_path, "--data", data).returncode == 0
    for name in (JOBS[target].writes for target in jobs):
        assert (tmp_path / name).read_bytes() == (demo.folder / name).read_bytes()


def swap_vocabulary(path):
    """Weights as if made with a corpus of three more characters."""
    state = torch.load(path, weights_only=True)
    for name in ("tok_emb.weight", "head.weight"):
        state[name] = torch.cat((state[name], state[name][:3]))
    torch.save(state, path)


WRAPPED = {"module.head": torch.ones(2), "module.ln_f": torch.ones(2)}
BAD_WEIGHTS = [
    (lambda path: shutil.copy(path.with_name("rope.finetune.params"), path), "with RoPE"),
    (swap_vocabulary, "vocabulary of"),
    (lambda path: rewrite(path, lambda b: b[: len(b) // 2]), "damaged"),
    (lambda path: rewrite(path, lambda b: b""), "It is empty: 0 bytes"),
    (lambda path: torch.save(WRAPPED, path), "which DataParallel"),
    (lambda path: torch.save({3: torch.ones(2)}, path), "not a state_dict"),
]


@pytest.mark.parametrize(("change", "words"), BAD_WEIGHTS)
def test_bad_weights_are_refused(results, change, words):
    change(results / "vanilla.finetune.params")
    before = (results / "vanilla.pretrain.dev.predictions").read_bytes()
    process = run_cli("vanilla_eval_dev_with_pretrain", *SMOKE, "--out", results)
    maker = "./run.sh vanilla_finetune_with_pretrain"
    refused(process, "vanilla.finetune.params", words, maker)
    assert (results / "vanilla.pretrain.dev.predictions").read_bytes() == before


@pytest.mark.parametrize(
    "target, room",
    [
        # room for the records, not for the weights
        pytest.param("vanilla_finetune_without_pretrain", 10_000, marks=pytest.mark.full),
        ("rope_eval_dev_with_pretrain", 10),
    ],
)
def test_a_full_disk_leaves_everything_as_it_was(results, target, room):
    written = results / JOBS[target].writes
    before = written.read_bytes()

    def limit():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    command = [sys.executable, ROOT / "src" / "run.py", target, *SMOKE, "--out", results]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", preexec_fn=limit)
    refused(process, str(written), "could not be written")
    assert written.read_bytes() == before and not list(results.glob("*.tmp"))


def test_a_missing_file_is_named(mine):
    """Nothing of the starter takes its place."""
    refused(run_cli("vanilla_pretrain", *mine(Text("attention.py", None))), "has no attention.py")


def test_files_of_a_problem_may_be_at_the_top(code, tmp_path):
    folder = code()
    for path in (folder / "problem6").glob("*.py"):
        path.rename(folder / path.name)
    shutil.rmtree(folder / "problem6")
    options = ("--submission", folder, "--out", tmp_path / "out")
    process = run_cli("plot_positions", *options)
    assert process.returncode == 0, process.stderr


TRAINER = "trainer_obj = Trainer(model, pretrain_dataset, None, tconf)"
RETURNED = [
    (TRAINER, f"{TRAINER}\n    tconf, trainer_obj = trainer_obj, tconf", "pretrain"),
    (TRAINER, f"{TRAINER}\n    tconf = TrainerConfig()", "pretrain"),
    ("    model = GPT(mconf)\n", "    model = (GPT(mconf),)\n", "initialize_vanilla_model"),
    ("    model = GPT(mconf)\n", "    GPT(mconf)\n", "initialize_vanilla_model"),
]


@pytest.mark.parametrize(("old", "new", "function"), RETURNED)
def test_a_function_that_returns_something_else_is_named(mine, old, new, function):
    process = run_cli("vanilla_pretrain", *mine(Edit("helper.py", old, new)))
    refused(process, f"{function} in helper.py returned", "docstring")


def test_a_preset_changes_what_it_names(submission):
    config = submission.TrainerConfig(batch_size=7)
    before = dict(vars(config))
    GPU.pretrain.apply(config, 2, 40)
    assert vars(config) == before | {"learning_rate": GPU.pretrain.learning_rate}
    LAPTOP.pretrain.apply(config, 2, 40)
    assert config.batch_size == LAPTOP.pretrain.batch_size
    assert config.final_tokens == LAPTOP.pretrain.max_epochs * 2 * 40


def test_loading_pretrained_weights_is_left_to_the_student(demo, results, mine):
    options = mine(Edit("helper.py", "model.load_state_dict(\n", "print(\n"))
    assert run_cli("rope_finetune_with_pretrain", *options, "--out", results).returncode == 0
    forgot, did = (
        torch.load(folder / "rope.finetune.params", weights_only=True)["tok_emb.weight"]
        for folder in (results, demo.folder)
    )
    assert not torch.allclose(forgot, did, atol=1e-3)


def test_an_error_in_the_students_code_keeps_its_traceback(mine):
    options = mine(Edit("model.py", "self.head(self.ln_f(x))", "self.head(x @ x)"))
    process = run_cli("vanilla_pretrain", *options)
    assert process.returncode == 1 and "Traceback" in process.stderr and "x @ x" in process.stderr
    assert not list(options[-1].glob("*.params*"))


NAMEDATA = pytest.param("namedata", marks=pytest.mark.full)


@pytest.mark.parametrize("dataset", [NAMEDATA, "charcorruption"])
def test_dataset_prints_examples(dataset):
    """On a console of any encoding."""
    command = [sys.executable, SOLUTION / "dataset.py", dataset]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    process = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    lines = process.stdout.splitlines()
    assert process.returncode == 0 and [line[:3] for line in lines] == ["x: ", "y: "] * 4
