"""The notebook of 1a runs from top to bottom with the starter, as a student first has it."""
import nbclient
import nbformat
from conftest import STARTER


def test_play_char_runs_headless(tmp_path):
    notebook = nbformat.read(STARTER / "mingpt-demo" / "play_char.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "clear the outputs before committing"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(STARTER / "mingpt-demo")}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    losses = [float(line.split("loss ")[1].split()[0]) for line in printed.splitlines() if line.startswith("batch")]
    assert losses[-1] < 0.7 * losses[0]
    assert printed.count("\nWhere is ") >= 4 and " from? " in printed.split("learning rate")[-1] and "same logits: True" in printed
