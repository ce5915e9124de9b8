"""The upload autograder: its zip, and what it does in a container as Gradescope's."""

import json
import re
import shutil
import zipfile
from functools import partial

import jsonschema
import pytest
from classes import CODED, MANIFEST
from gradescope_container import LANDLOCK, run_in_container

from autograder import Outcome, Report, Verdict
from autograder.report import as_dict
from checks.support.context import EXERCISES, GOLD_EXERCISES
from common.files import UserError
from helpers import DATA, RESULTS, ROOT, SOLUTION, STARTER, copy_reference, manifest_text
from instructor.commands import parse
from instructor.datasets.worlds.editions import EDITIONS
from instructor.datasets.worlds.editions import EXERCISES as EXERCISE_SEED
from instructor.datasets.worlds.exercises import write_exercises
from instructor.grading.gradescope import build
from instructor.grading.gradescope.harness import choose_seed
from instructor.grading.gradescope.results import graded
from instructor.mistakes.patches import Edit, Fill, make

CHECKS = [MANIFEST.checks[id] for id in CODED]
ALL = sum(check.points for check in CHECKS)
SCHEMA = ROOT / "instructor" / "grading" / "gradescope" / "results.schema.json"
NO_BUBBLEWRAP = (shutil.which("bwrap") or "/usr/bin/bwrap",)
# It looks for secrets and forges a grade. LOOT, which is not in this text, must be seen nowhere.
HOSTILE = """
import glob, os
SOURCE, LOOT = "/autograder/source/", "LO" + "OT"
secrets = ("instructor/*/*", "instructor/gold", "settings.json")
attacks = [(path, "r") for name in secrets for path in glob.glob(SOURCE + name)]
for name in ("results/results.json", "source/failed.json", "run_autograder"):
    attacks.append(("/autograder/" + name, "a"))
for path, mode in attacks:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, mode).close()
    except OSError:
        continue
    raise RuntimeError(LOOT + path)
"""
# Without a user of its own, its threads are counted a few times a second.
THREADS = """import threading, time
for _ in range(100):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(1)"""


# Without a user of its own, its threads are counted a few times a second.
THREADS = """import threading, time
for _ in range(100):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(1)"""


def gradescope(*arguments):
    args = parse(["gradescope", *map(str, arguments)])
    assert args.run(args) == 0
    return args.out


def built(folder, *arguments):
    return gradescope(folder / "autograder.zip", "--seed", 5, *arguments)


def checks_of(results):
    jsonschema.validate(results, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert results["score"] == pytest.approx(sum(test["score"] for test in results["tests"]))
    tests = [test for test in results["tests"] if "staff" not in test["tags"]]
    return {test["name"].partition(":")[0]: test for test in tests}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return built(tmp_path_factory.mktemp("zip"))


def test_the_zip_has_no_students_package_and_no_seed_but_its_own(archive, tmp_path):
    assert built(tmp_path).read_bytes() == archive.read_bytes()
    args = parse(["gradescope", str(tmp_path / "c.zip")])
    assert build.build(args.out, args)["secret"] != build.build(args.out, args)["secret"]
    with zipfile.ZipFile(archive) as content:
        names = content.namelist()
        assert "data/wiki.txt" in names and "data/laptop/wiki.txt" in names
        outside = ("instructor/datasets/worlds/editions", "src/submission", "tests", ".")
        assert not [name for name in names if name.startswith(outside)]
        seeds = "|".join(map(str, (EXERCISE_SEED, *(seed for seed, _ in EDITIONS.values()))))
        assert not [name for name in names if re.search(seeds.encode(), content.read(name))]
        pins = content.read("requirements.txt").decode().split()
        assert [pin for pin in pins if pin.startswith("torch>=")]
        assert not [pin for pin in pins if pin.startswith(("matplotlib", "nvidia"))]
    assert archive.stat().st_size < 20 << 20
    tests = results_of([])["tests"]
    regular = [test["max_score"] for test in tests if "extra credit" not in test["name"]]
    assert len(regular) < len(tests) and build.regular_points(MANIFEST) == sum(regular)


@pytest.mark.parametrize("where", ["", "laptop"])
def test_a_cohort_of_ones_own_takes_the_place_of_ours(tmp_path, where):
    data, gold = tmp_path / "data", tmp_path / "gold"
    shutil.copytree(DATA, data / "laptop")
    write_exercises(7, data, gold)
    questions = (DATA / "birth_test_inputs.tsv").read_text(encoding="utf-8").splitlines()
    answers = "".join(f"{question}\tAtlantis\n" for question in questions)
    (gold / "laptop").mkdir()
    (gold / "laptop" / "birth_test.tsv").write_text(answers, encoding="utf-8")
    for name in ("hand_attention.json", "occupations") if where else ():
        (data / name).rename(data / where / name)
    words = "--preset", "laptop", "--data", data / "laptop", "--gold", gold / where
    with zipfile.ZipFile(built(tmp_path, *words)) as content:
        assert b"Atlantis" in content.read("instructor/gold/laptop/birth_test.tsv")
        assert "data/wiki.txt" not in content.namelist()
        mine = {f"data/{name}": data / where / name for name in EXERCISES}
        mine |= {f"instructor/gold/{name}": gold / name for name in GOLD_EXERCISES}
        for name, path in mine.items():
            assert content.read(name) == path.read_bytes() != (ROOT / name).read_bytes()
    for option, path in (("data", data / where / EXERCISES[0]), ("gold", gold / GOLD_EXERCISES[0])):
        kept = path.rename(tmp_path / "kept")
        refused(f"neither in .*Check --{option}", tmp_path / "b.zip", *words)
        kept.rename(path)
    assert not (tmp_path / "b.zip").exists()


def refused(says, *arguments):
    with pytest.raises(UserError, match=f"{says}.* Nothing was written."):
        gradescope(*arguments)


GPU = ("--preset", "gpu", "--gold")


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["a.zip", "--data", DATA], "needs --preset"),
        (["a.zip", "--data", DATA, "--preset", "laptop"], "--gold DIR"),
        (["a.zip", *GPU, ROOT / "instructor" / "gold" / "laptop"], "does not answer the quest"),
        (["a.zip", *GPU, ROOT / "nowhere"], "is not a folder. Check --gold"),
        (["a.tar"], "name of a zip"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    refused(says, *arguments)
    assert not list(tmp_path.iterdir())


def test_a_submission_has_one_seed_and_odd_metadata_does_no_harm(tmp_path):
    def seed(text, secret="00" * 32):
        (tmp_path / "metadata.json").write_text(text, encoding="utf-8")
        return choose_seed(tmp_path / "metadata.json", secret)

    first = seed('{"id": 7, "users": []}')
    assert first == seed('{"id": 7}') and len({first, seed('{"id": 8}')}) == 2
    assert first != seed('{"id": 7}', "11" * 32)
    for odd in ("", "[]", "{", "null", '{"id": {}}', '{"id": "\\ud800"}', "[" * 100_000):
        assert 0 <= seed(odd) < 2**62
    nothing = tmp_path / "nothing", "00" * 32
    assert choose_seed(*nothing) != choose_seed(*nothing)


def only(source, questions="1c|1d", seconds=None):
    """Let a container grade these questions alone, each check for so many seconds."""
    for part in (source / "src" / "checks").glob("*/manifest.toml"):
        part.unlink()
    text = manifest_text()
    if seconds:
        text = re.sub("(?m)^seconds = .*", f"seconds = {seconds}", text)
    other = rf'\[questions\.(?!{questions})|\[\[check\]\]\nid = "(?!{questions})'
    tables = [table for table in re.split(r"(?m)^(?=\[)", text) if not re.match(other, table)]
    (source / "src" / "checks" / "manifest.toml").write_text("".join(tables), encoding="utf-8")


@pytest.mark.full
@pytest.mark.landlock
def test_a_right_submission_earns_all_points_in_a_small_container(archive, tmp_path):
    setup = run_in_container(archive, SOLUTION, "/autograder/source/setup.sh")
    assert setup.code == 0 and "isolation: landlock" in setup.output
    reference = copy_reference(tmp_path / "reference")
    container = run_in_container(archive, reference, metadata='{"id": 1}')
    results, checks = container.results, checks_of(container.results)
    assert results["score"] == ALL == sum(test["max_score"] for test in checks.values())
    for test in checks.values():
        assert test["visibility"] == ("visible" if "basic" in test["tags"] else "after_due_date")
    # nobody knows places without pretraining
    assert [row["value"] > 0 for row in results["leaderboard"]] == [True, True, False]
    assert results["extra_data"]["isolation"] in ("bubblewrap", "landlock")
    assert f"{ALL:g} of {ALL:g}" in container.output


@pytest.mark.landlock
def test_a_wrong_one_is_told_why_by_landlock_without_bubblewrap(archive, tmp_path):
    changes = (
        Edit("dataset.py", "x, y = ids[:-1], ids[1:]", "x, y = ids[:-1], ids[:-1]"),
        Fill("apply_rotary_emb", 'raise NotImplementedError("1h: rotate")'),
        Edit("dataset.py", "int(self.block_size * 3 / 4)", "int(self.block_size / 2)"),
    )
    folder = make(changes, tmp_path / "mine" / "src" / "submission")
    shutil.copy(RESULTS / "rope.finetune.params", folder)
    # claims that are too few to be looked at
    rows = (DATA / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()[:10]
    claims = [row.partition("\t")[2] for row in rows] + ["Nowhere"] * 90 + [""]
    (folder / "rope.pretrain.dev.predictions").write_text("\n".join(claims), encoding="utf-8")
    limits = {"hidden": NO_BUBBLEWRAP, "prepare": partial(only, questions="1c|1d|1h")}
    container = run_in_container(archive, tmp_path / "mine", metadata="-", **limits)
    checks = checks_of(container.results)
    assert container.results["extra_data"]["isolation"] == "landlock"
    assert "bwrap" in container.output and "For staff:" in container.output
    assert checks["1c-2-basic"]["score"] == 0 and "shifted by one" in checks["1c-2-basic"]["output"]
    assert checks["1h-3-basic"]["tags"] == ["1h", "basic", "not implemented"]
    assert checks["1d-3-basic"]["status"] == "passed"
    hidden, title = checks["1c-4-hidden"], MANIFEST.checks["1c-4-hidden"].title
    assert hidden["output"] == f"Hidden check: {title}." and hidden["status"] == "failed"
    assert all(row["value"] == 0 for row in container.results["leaderboard"])


WITHOUT = pytest.param(LANDLOCK, "limits", marks=pytest.mark.full)


@pytest.mark.landlock
@pytest.mark.parametrize("forbidden, isolation", [((), "landlock"), WITHOUT])
def test_a_hostile_one_gets_nothing(archive, tmp_path, forbidden, isolation):
    """Where there is no sandbox, the hidden checks don't run, and are locked away."""
    much = "print('x' * 10**6)\nreturn bytearray(3 << 30)"
    greedy = Fill("CharCorruptionDataset.__getitem__", much)
    endless = Fill("finetune", "while True:\n    pass")
    folder = make((greedy, endless, Fill("train", THREADS)), tmp_path / "hostile")
    for name in ("attention.py", "dataset.py"):
        text = HOSTILE + (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    limits = {"forbidden": forbidden, "hidden": NO_BUBBLEWRAP}
    container = run_in_container(archive, folder, prepare=partial(only, seconds=3), **limits)
    results, checks = container.results, checks_of(container.results)
    extra = results["extra_data"]
    assert extra["isolation"] == isolation and extra["state"] == "graded"
    assert "LOOT" not in container.output + json.dumps(results)
    assert results["score"] <= 1, container.output  # the model of 1d is right
    ends = {test["tags"][2] for test in checks.values()}
    assert {"blocked by the sandbox", "timeout", "out of memory"} <= ends, container.output
    staff = [test for test in results["tests"] if "staff" in test["tags"]]
    hidden = {test["tags"][2] for test in checks.values() if "hidden" in test["tags"]}
    if isolation == "landlock":
        assert not staff and "not run" not in hidden
    else:
        assert hidden == {"not run"} and "checks did not run" in staff[0]["name"]
        assert staff[0]["visibility"] == "hidden"


@pytest.mark.landlock
def test_a_right_one_earns_its_basic_points_without_a_sandbox(archive, tmp_path):
    reference = copy_reference(tmp_path / "reference")
    limits = {"forbidden": LANDLOCK, "hidden": NO_BUBBLEWRAP, "prepare": only}
    results = run_in_container(archive, reference, **limits).results
    basic = [test for test in checks_of(results).values() if "basic" in test["tags"]]
    assert results["score"] == sum(test["max_score"] for test in basic)
    assert "not a grade yet" in results["output"]


@pytest.mark.full
@pytest.mark.landlock
def test_the_results_are_written_in_time(tmp_path):
    """The seconds for all checks are those of the clock: what outlasts them, Gradescope forgets."""
    results = run_in_container(built(tmp_path, "--seconds", 10), SOLUTION).results
    assert results["extra_data"]["state"] == "graded"
    late = [test for test in checks_of(results).values() if "timeout" in test["tags"]]
    assert late and all("used up" in test["output"] for test in late if "basic" in test["tags"])


SPOIL = {  # what cannot be graded: an upload of nothing, and what is the autograder's fault
    "nothing": lambda source: None,
    "no Python": lambda source: None,
    "too slow": lambda source: (source / "time_limit").write_text("0.1", encoding="utf-8"),
    "no settings": lambda source: (source / "settings.json").unlink(),
    "no checks": lambda source: shutil.rmtree(source / "src" / "checks" / "given"),
}


@pytest.mark.parametrize("fault", SPOIL)
def test_what_cannot_be_graded_leaves_results_that_say_so(archive, tmp_path, fault):
    environment = {"AUTOGRADER_PYTHON": "/nowhere/python"} if fault == "no Python" else {}
    upload = tmp_path if fault == "nothing" else STARTER
    results = run_in_container(archive, upload, prepare=SPOIL[fault], **environment).results
    assert checks_of(results) and results["score"] == 0
    refused = "refused", "collect_submission.sh"
    state, advice = refused if fault == "nothing" else ("failed", "Please tell the staff")
    assert results["extra_data"]["state"] == state and advice in results["output"]


def results_of(ids, hidden="hidden", notices=(), **fault):
    outcomes = {check.id: Outcome(check.id, Verdict.PASSED, check.points) for check in CHECKS}
    outcomes |= {id: Outcome(id, hints=["a secret"], **fault) for id in ids}
    report = as_dict(Report(MANIFEST, outcomes, 1, ("landlock", ""), notices))
    settings = {"version": "1", "leaderboard": True, "hidden_visibility": hidden}
    return graded(report, MANIFEST, settings)


def test_a_fault_of_the_autograder_is_not_the_students():
    fault = {"verdict": Verdict.GRADER_ERROR, "details": "a secret traceback"}
    notices = ["A notice with \x1b[31m and \ud800."]
    results = results_of(["1c-4-hidden"], notices=notices, message="Tell the staff.", **fault)
    assert checks_of(results)["1c-4-hidden"]["status"] == "failed"
    assert results["score"] == ALL - MANIFEST.checks["1c-4-hidden"].points
    fault = f"1 of {len(CHECKS)} checks failed because of the autograder, not your code"
    assert fault in results["output"]
    assert "secret" not in json.dumps(results) and results["tests"][-1]["visibility"] == "hidden"


@pytest.mark.parametrize("hidden", ["visible", "after_due_date"])
def test_the_output_leads_with_points_and_where_to_start(hidden):
    lost, place = ("5d-1-basic", "5d-2-basic", "5d-4-hidden"), "encoder.py:71  MultiHeadAttention"
    fault = {"verdict": Verdict.NOT_IMPLEMENTED, "message": place, "details": "a secret"}
    output = results_of(lost, hidden, ["A notice."], **fault)["output"]
    checks = [check for check in CHECKS if hidden == "visible" or check.kind == "basic"]
    most = sum(check.points for check in checks)
    missing = sum(check.points for check in checks if check.id in lost)
    which = "automatic points" if hidden == "visible" else "points of basic checks"
    first, start, notice = output.split("\n\n")
    assert first.startswith(f"{most - missing:g} of {most:g} {which}; ")
    cause = "5d: MultiHeadAttention is not written yet: encoder.py, line 71"
    assert cause in start and f"{missing:g} points" in start and notice == "A notice."
