"""The starter is what the generator makes of the solution, and its stubs tell students what to do."""

import ast
import json
import re
import shutil

import pytest

from conftest import SOLUTION, STARTER
from instructor.datasets.worlds.exercises import ANSWERS, SHAPES
from instructor.release.starter import END, START, find_drift, places, strip_solution, write_starter


def stubs():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(STARTER.rglob("*.py")))
    return re.findall(r'raise NotImplementedError\("(.*?)"\)', text)


def test_no_drift():
    assert find_drift() == []


def test_drift_is_found(tmp_path):
    write_starter(tmp_path)
    assert find_drift(tmp_path) == []
    (tmp_path / "helper.py").write_text(
        (tmp_path / "helper.py").read_text(encoding="utf-8") + "# edited\n", encoding="utf-8"
    )
    assert any("# edited" in line for line in find_drift(tmp_path))
    (tmp_path / "extra.py").write_text("print()\n", encoding="utf-8")
    write_starter(tmp_path)
    assert find_drift(tmp_path) == [] and not (tmp_path / "extra.py").exists()
    (tmp_path / "helper.py").write_bytes(
        (tmp_path / "helper.py").read_bytes().replace(b"\n", b"\r\n")
    )
    assert find_drift(tmp_path) != []
    write_starter(tmp_path)
    shutil.copy(SOLUTION / "problem5" / "hand_attention.json", tmp_path / "problem5")
    assert any(line.startswith("+") and "null" in line for line in find_drift(tmp_path))


def test_every_place_is_a_stub_that_names_its_question():
    assert sorted(stubs()) == sorted(f"{place.question}: {place.function}" for place in places())
    assert len(set(stubs())) == len(stubs()) >= 70 and {place.question for place in places()} >= {
        "1c",
        "1h",
        "5g",
        "6a",
        "6g",
    }


def test_no_solution_is_left():
    marked = re.compile(re.escape(START) + r"\n(.*?)" + re.escape(END), re.DOTALL)
    for path in SOLUTION.rglob("*.py"):
        solution, starter = (
            path.read_text(encoding="utf-8"),
            (STARTER / path.relative_to(SOLUTION)).read_text(encoding="utf-8"),
        )
        ast.parse(starter)
        given = marked.sub("", solution)
        for line in "\n".join(marked.findall(solution)).splitlines():
            assert line in given or line not in starter


def test_numbers_are_for_students_to_fill_in():
    solved, starter = (
        json.loads((place / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
        for place in (SOLUTION, STARTER)
    )
    assert list(starter) == list(solved) == [*SHAPES, *ANSWERS]
    assert all(starter[name] == solved[name] for name in SHAPES)
    for name, (rows, columns) in ANSWERS.items():
        assert (
            starter[name] == [[None] * columns] * rows
            and [len(row) for row in solved[name]] == [columns] * rows
        )


@pytest.mark.parametrize(
    "source",
    [
        f"def f():\n    # [part 1c]\n    {START}\n    return 1\n",
        f"def f():\n    {START}\n    return 1\n    {END}\n",
        f"def f():\n    # [part 1c]\n    {END}\n    return 1\n",
        f"def f():\n    # [part 1c]\n    {START}\n    pass\n    {END}\n\ndef g():\n    {START}\n"
        f"    pass\n    {END}\n",
    ],
)
def test_bad_markers_are_refused(source):
    with pytest.raises(ValueError, match="bad.py"):
        strip_solution(source, "bad.py")


def test_a_question_of_another_problem_keeps_its_number():
    source = f"def f():\n    # [part 5c] spec\n    {START}\n    return 1\n    {END}\n"
    assert '"5c: f"' in strip_solution(source, "a.py")
