"""What students must not get is found in a release; and what the starter is."""

import dataclasses
import getpass
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from helpers import ROOT, SOLUTION, STARTER
from instructor.course import read_course
from instructor.datasets.worlds.editions import EDITIONS, EXERCISES
from instructor.datasets.worlds.exercises import ANSWERS, SHAPES, as_json
from instructor.release import build, known_secrets, leaks
from instructor.release.starter import END, START, find_drift, places, strip_solution, write_starter


@pytest.fixture(scope="module")
def secrets():
    return known_secrets.gather_secrets()


def test_nothing_leaks(secrets):
    files = build.release_files(read_course(), {})
    texts = {name: leaks.text_of(name, content) for name, content in files.items()}
    assert leaks.find_leaks(texts, secrets) == []


def read(*names):
    return ROOT.joinpath("instructor", *names).read_text(encoding="utf-8")


def body_of(name):
    """The longest line between the solution's markers in a file."""
    bodies = re.findall(f"{START}(.*?){END}", read("solution", name), re.DOTALL)
    return max((line.strip() for line in "\n".join(bodies).splitlines()), key=len)


def notebook(text):
    outputs = [{"data": {"text/plain": ["1\n", "  " + text]}}]
    return json.dumps({"cells": [{"source": [], "outputs": outputs}]})


def zipped(text):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        name = zipfile.ZipInfo("1h-2-basic/0")  # of no time: all workers collect the same tests
        file.writestr(name, f'{{"inputs": "{text}"}}', zipfile.ZIP_DEFLATED)
    return content.getvalue()


Q1H = "src/checks/problem1/q1h.py"
# the longest function of the hidden checks of 1h
HIDDEN = max(re.findall(r"(?ms)^def .*?(?=^\S|\Z)", read("checks/problem1/q1h.py")), key=len)
GOLD = read("gold/laptop/birth_test.tsv").splitlines()
PLACES = [row.split("\t")[1] for row in GOLD[10:25]]
KEPT = read("gold/occupations/test.tsv").splitlines()[7].partition("\t")[0]
SOLVED = json.loads(read("solution/problem5/hand_attention.json"))
HAND = "problem5/hand_attention.json"
PHRASE = re.search(r"(?:[a-z]{2,} ){7}", read("rubrics", "3a.tex"))[0].split()
NUMBER = r"\\fact\{.*?\}"  # within a worked answer; its number has no part in the words
NUMBERED = re.search(rf"(?:[a-z]+ ){{3}}{NUMBER}(?:\s[a-z]+){{4}}", read("rubrics", "6g.tex"))[0]
FULL, LAPTOP = EDITIONS["full"][0], EDITIONS["laptop"][0]
USER = getpass.getuser()
PLANTS = [  # file, content, what is said of it
    ("instructor/x.py", "", "instructor"),
    ("src/checks/q1c_hidden.py", "", "q1c_hidden.py"),
    ("src/checks/q1cHidden.py", "", "q1cHidden.py"),
    ("src/solutions/x.py", "", "solutions"),
    ("data/birth_test.tsv", "", "birth_test.tsv"),
    ("data/occupations/test.tsv", "", "test.tsv"),
    ("data/traces.json.gz", "", "traces.json.gz"),
    ("src/submission/rope.finetune.params", "", "rope.finetune.params"),
    ("src/submission/encoder.params", "", "encoder.params"),
    (".git/config", "", ".git"),
    ("src/a.py", f"x = 1\n\n    {body_of('attention.py')}", "line 3: a line of the solution in"),
    ("src/submission/helper.py", f"# {body_of('helper.py')}", "the solution in helper.py"),
    ("src/a.ipynb", notebook(body_of("dataset.py")), "the solution in dataset.py"),
    (Q1H, max(HIDDEN.splitlines(), key=len), "the hidden checks in q1h.py"),
    ("handout/handout.html", f"<p>{' <em>'.join(PHRASE)}", "a worked answer or a rubric"),
    ("README.md", re.sub(NUMBER, "23", NUMBERED), "a worked answer or a rubric"),
    ("README.md", f"see\n{GOLD[3]}", "answer to a test question"),
    ("src/a.py", json.dumps([GOLD[7].split("\t")]), "answer to a test question"),
    ("src/checks/cases/1h.zip", zipped(GOLD[3]), "answer to a test question"),
    ("data/birth_dev.tsv", GOLD[7], "answer to a test question"),
    ("data/x.txt", "\n".join(PLACES), "in their order"),
    ("data/x.txt", "\n".join(f"{n}. {p.upper()}" for n, p in enumerate(PLACES)), "in their order"),
    ("data/x.csv", ",".join(reversed(GOLD[5][10:].split(" born?\t"))), "line 1: the name and the"),
    ("data/occupations/dev.tsv", f"{KEPT}\t0", "sentences that are kept for grading"),
    ("handout/handout.html", f"<td>{SOLVED['weights'][1]}", "the solution in hand_attention.json"),
    ("x/hand_attention.json", as_json(SOLVED | {"output": [[None]]}), "numbers that are for"),
    ("problem6/choices.toml", 'architecture = ""\nobjective = "causal-lm"\n', "line 2: a choice"),
    ("src/a.py", f"SEED = {EXERCISES}", "seed of a world"),
    ("src/a.py", f"SEED = {FULL:_}", "seed of a world"),
    ("data/README.md", f"drawn with {LAPTOP}.", "seed of a world"),
    ("src/a.ipynb", notebook("C:\\Users\\prof\\x"), "a user's folder"),
    ("src/a.ipynb", notebook(f"{ROOT}/src/files.py"), "a folder of this machine"),
    ("src/a.txt", str(ROOT).replace("/", "\\\\"), "a folder of this machine"),
    ("README.md", f"cd {Path.home()}/course", "this machine"),
    ("src/a.ipynb", notebook(f"C:\\Users\\{USER}\\x"), "the user of this machine"),
    ("src/a.py", "from instructor import grades", "under instructor/"),
    ("src/a.py", "# as instructor/checks does", "under instructor/"),
    ("src/a.py", "import instructor.checks", "under instructor/"),
    ("README.md", "`python -m instructor starter`", "under instructor/"),
]


@pytest.mark.parametrize("name, content, expected", PLANTS)
def test_a_leak_is_found(name, content, expected, secrets):
    content = content if isinstance(content, bytes) else content.encode()
    found = leaks.find_leaks({name: leaks.text_of(name, content)}, secrets)
    assert any(leak.startswith(name) and expected in leak for leak in found), found


def test_a_commit_is_found(secrets):
    if not secrets.commits:
        pytest.skip("there is no git history here")
    (found,) = leaks.find_leaks({"a": f"version {secrets.commits[1:10]}"}, secrets)
    assert "a commit" in found


def test_a_hidden_check_among_the_basic_ones_of_this_copy_is_found(secrets):
    """Lines that src/checks has count as shared; the function is recognized all the same."""
    shared = dataclasses.replace(secrets, runs={})
    text = (ROOT / Q1H).read_text(encoding="utf-8")
    assert leaks.find_leaks({Q1H: text}, shared) == []
    (found,) = leaks.find_leaks({Q1H: text + HIDDEN}, shared)
    assert "hidden checks in q1h.py" in found


def test_documents_show_no_seed_that_could_be_copied():
    """Students can read these: anyone who copied a seed from there would reveal the answers."""
    patterns = "*.md docs/*.md handout/*.md handout/*.tex instructor/**/*.py src/*.py".split()
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        assert not re.search(r"--(seed|cohort)[ =]\d", path.read_text(encoding="utf-8")), path


def test_there_is_no_drift_and_it_would_be_found(tmp_path):
    assert find_drift() == []
    write_starter(tmp_path)
    assert find_drift(tmp_path) == []
    helper = tmp_path / "helper.py"
    text = helper.read_bytes()
    for changed in (text + b"# edited\n", text.replace(b"\n", b"\r\n")):
        helper.write_bytes(changed)
        assert find_drift(tmp_path) == ["helper.py"]
    (tmp_path / "extra.py").write_text("print()\n", encoding="utf-8")
    write_starter(tmp_path)
    assert find_drift(tmp_path) == [] and not (tmp_path / "extra.py").exists()
    shutil.copy(SOLUTION / HAND, tmp_path / HAND)
    assert find_drift(tmp_path) == [HAND]


def test_every_place_is_a_stub_that_names_its_question_or_a_number_to_fill_in():
    text = "\n".join(path.read_text(encoding="utf-8") for path in STARTER.rglob("*.py"))
    stubs = re.findall(rf'{START}\n *raise NotImplementedError\("(.*?)"\)\n *{END}', text)
    assert sorted(stubs) == sorted(f"{place.question}: {place.function}" for place in places())
    assert len({*stubs}) == len(stubs) >= 70
    assert {place.question for place in places()} >= {"1c", "1h", "5g", "6a", "6g"}
    starter, solved = (json.loads((at / HAND).read_text("utf-8")) for at in (STARTER, SOLUTION))
    blank = {name: [[None] * columns] * rows for name, (rows, columns) in ANSWERS.items()}
    assert starter == {name: solved[name] for name in SHAPES} | blank


@pytest.mark.parametrize(
    "body",
    [
        f"# [part 1c]\n    {START}\n    return 1\n",
        f"{START}\n    return 1\n    {END}\n",
        f"# [part 1c]\n    {END}\n    return 1\n",
        f"# [part 1c]\n    {START}\n    {END}\n    pass\n\n"
        f"def g():\n    {START}\n    {END}\n    pass",
    ],
)
def test_bad_markers_are_refused(body):
    with pytest.raises(ValueError, match="bad.py"):
        strip_solution(f"def f():\n    {body}", "bad.py")


def test_output_that_nobody_reads_is_no_error():
    """As in `python -m instructor ... | head -1`."""
    command = [sys.executable, "-m", "instructor", "starter", "--check"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == 0
