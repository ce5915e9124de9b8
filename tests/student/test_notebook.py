"""The notebook of 1a runs with the starter, as a student first has it; the grader in notebooks."""

import re

import nbclient
import nbformat
import pytest

from helpers import ROOT, SOLUTION, STARTER


@pytest.mark.full
def test_play_char_runs_headless():
    notebook = nbformat.read(STARTER / "mingpt-demo" / "play_char.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    where = {"metadata": {"path": str(STARTER / "mingpt-demo")}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    losses = [*map(float, re.findall(r"^batch.*loss (\S+)", printed, re.MULTILINE))]
    assert losses[-1] < 0.7 * losses[0]
    assert printed.count("\nWhere is ") >= 4 and "same logits: True" in printed


def test_the_grader_runs_in_a_notebook():
    """%run shows the report, and no exit as an error where all passed."""
    line = f"%run '{ROOT / 'src' / 'grader.py'}' 1h-2-basic --submission '{SOLUTION}'"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line)])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    shown = "".join(output.get("text", "") for output in outputs)
    assert re.search(r"all  (\S+) of \1\n", shown)
    assert not any(output.output_type == "error" for output in outputs)
