"""The starter is what the generator makes of the solution, and its stubs tell a student what to do."""
import ast
import json
import re
import shutil

import pytest
from conftest import SOLUTION, STARTER

from instructor.corpus.exercises import ANSWERS, SHAPES
from instructor.starter import END, GIVEN, START, find_drift, strip_solution, write_starter

PLACES = {
    "1c: CharCorruptionDataset.__getitem__", "1d: initialize_vanilla_model", "1h: initialize_rope_model", "1d: finetune",
    "1f: finetune",
    "1f: pretrain", "1d: train", "1h: precompute_rotary_emb", "1h: apply_rotary_emb", "1h: CausalSelfAttention",
    "1h: CausalSelfAttention.forward", "1h: GPT.forward",
    "5b: scaling_experiment", "5c: attention", "5d: MultiHeadAttention", "5d: MultiHeadAttention.forward", "5e: sinusoidal_positions",
    "5e: LayerNorm.forward", "5e: EncoderLayer.forward", "5e: Encoder.forward", "5f: copy_task", "5g: BagOfWords.forward",
    "5g: train_classifier", "5g: accuracy", "5g: attention_entropy",
    "6a: require_sizes", "6a: head_dim", "6a: weight_shapes", "6a: attention_parameters", "6a: layer_parameters", "6a: model_parameters",
    "6a: score_shape", "6a: score_count", "6a: multiply_adds", "6a: flops", "6a: model_flops", "6a: kv_cache_bytes",
    "6c: sinusoidal", "6c: sinusoidal_at", "6c: frequencies", "6c: shift_matrix", "6c: rope_scores", "6c: alibi_bias",
    "6c: interpolated_positions",
    "6d: every_kth", "6d: section_headers", "6d: predicted_globals", "6d: attended_positions", "6d: count_connections",
    "6d: sparse_attention", "6d: SparseSelfAttention.from_dense", "6d: SparseSelfAttention.project", "6d: SparseSelfAttention.forward",
    "6d: StreamingAttention", "6d: StreamingAttention.append", "6d: StreamingAttention.cached_positions",
    "6d: StreamingAttention.cache_bytes", "6g: cross_document_attention", "6g: remember", "6g: ask",
    "6f: Monitor", "6f: Monitor.update", "6f: Monitor.add_scalar", "6f: Monitor.close",
    "6e: attention_scores", "6e: clip_gradients", "6e: apply_temperature", "6e: top_k_filter", "6e: top_p_filter", "6e: repetition_penalty",
    "6e: no_repeat_ngrams", "6e: generate", "6e: PreNormStack", "6e: PreNormStack.forward", "6e: init_depth_scaled",
}


def stubs():
    text = "\n".join(path.read_text(encoding="utf-8") for path in STARTER.glob("*.py"))
    return re.findall(r'raise NotImplementedError\("(.*?) \(in', text)


def test_no_drift():
    assert find_drift() == []


def test_drift_is_found(tmp_path):
    write_starter(tmp_path)
    assert find_drift(tmp_path) == []
    (tmp_path / "helper.py").write_text((tmp_path / "helper.py").read_text() + "# edited\n")
    assert any("# edited" in line for line in find_drift(tmp_path))
    (tmp_path / "extra.py").write_text("print()\n")
    write_starter(tmp_path)
    assert find_drift(tmp_path) == [] and not (tmp_path / "extra.py").exists()
    (tmp_path / "helper.py").write_bytes((tmp_path / "helper.py").read_bytes().replace(b"\n", b"\r\n"))
    assert find_drift(tmp_path) != []
    write_starter(tmp_path)
    shutil.copy(SOLUTION / "hand_attention.json", tmp_path)
    assert any(line.startswith("+") and "null" in line for line in find_drift(tmp_path))


def test_every_place_is_a_stub_that_names_its_question():
    assert set(stubs()) == PLACES and len(stubs()) == len(PLACES)


def test_no_solution_is_left():
    marked = re.compile(re.escape(START) + r"\n(.*?)" + re.escape(END), re.DOTALL)
    for path in SOLUTION.glob("*.py"):
        solution, starter = path.read_text(encoding="utf-8"), (STARTER / path.name).read_text(encoding="utf-8")
        ast.parse(starter)
        given = marked.sub("", solution)
        for line in "\n".join(marked.findall(solution)).splitlines():
            assert line in given or line not in starter


@pytest.mark.parametrize("folder", [STARTER, GIVEN])
def test_numbers_are_for_students_to_fill_in(folder):
    solved, starter = (json.loads((place / "hand_attention.json").read_text(encoding="utf-8")) for place in (SOLUTION, folder))
    assert list(starter) == list(solved) == [*SHAPES, *ANSWERS]
    assert all(starter[name] == solved[name] for name in SHAPES)
    for name, (rows, columns) in ANSWERS.items():
        assert starter[name] == [[None] * columns] * rows and [len(row) for row in solved[name]] == [columns] * rows


@pytest.mark.parametrize("source", [
    f"def f():\n    # [part c]\n    {START}\n    return 1\n",
    f"def f():\n    {START}\n    return 1\n    {END}\n",
    f"def f():\n    # [part c]\n    {END}\n    return 1\n",
    f"def f():\n    # [part c]\n    {START}\n    pass\n    {END}\n\ndef g():\n    {START}\n    pass\n    {END}\n",
])
def test_bad_markers_are_refused(source):
    with pytest.raises(ValueError, match="bad.py"):
        strip_solution(source, "bad.py")


def test_a_question_of_another_problem_keeps_its_number():
    source = f"def f():\n    # [part 5c] spec\n    {START}\n    return 1\n    {END}\n"
    assert '"5c: f (in a.py' in strip_solution(source, "a.py")
