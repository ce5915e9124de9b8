"""The starter is what the generator makes of the solution, and its stubs tell students what to do."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from helpers import ROOT, SOLUTION, STARTER
from instructor.datasets.worlds.exercises import ANSWERS, SHAPES
from instructor.release.starter import END, START, find_drift, places, strip_solution, write_starter

BY_HAND = "problem5/hand_attention.json"


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
    shutil.copy(SOLUTION / BY_HAND, tmp_path / BY_HAND)
    assert find_drift(tmp_path) == [BY_HAND]


def test_every_place_is_a_stub_that_names_its_question_or_a_number_to_fill_in():
    text = "\n".join(path.read_text(encoding="utf-8") for path in STARTER.rglob("*.py"))
    stubs = re.findall(rf'{START}\n *raise NotImplementedError\("(.*?)"\)\n *{END}', text)
    assert sorted(stubs) == sorted(f"{place.question}: {place.function}" for place in places())
    assert len({*stubs}) == len(stubs) >= 70
    assert {place.question for place in places()} >= {"1c", "1h", "5g", "6a", "6g"}
    starter, solved = (json.loads((at / BY_HAND).read_text("utf-8")) for at in (STARTER, SOLUTION))
    blank = {name: [[None] * columns] * rows for name, (rows, columns) in ANSWERS.items()}
    assert starter == {name: solved[name] for name in SHAPES} | blank


@pytest.mark.parametrize(
    "body",
    [
        f"# [part 1c]\n    {START}\n    return 1\n",
        f"{START}\n    return 1\n    {END}\n",
        f"# [part 1c]\n    {END}\n    return 1\n",
        f"# [part 1c]\n    {START}\n    {END}\n    pass\n\ndef g():\n    {START}\n    {END}\n    pass",
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
