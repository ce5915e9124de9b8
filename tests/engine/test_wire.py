"""The wire format brings data across unharmed, and refuses everything else."""

import json
from collections import namedtuple

import numpy as np
import pytest
import torch

from autograder import Answer
from autograder.inside import wire

LIMIT = 1 << 20
Pair = namedtuple("Pair", "a b")


def test_values_come_back(seed):
    assert wire.decode(wire.encode(Pair(1, [2]), LIMIT)) == (1, [2])
    value = {"a": [1, -2.5, None, True, "ä\u2047\x00", [], {}], 3: (1, (2,)), "nan": float("inf")}
    assert wire.decode(wire.encode(value, LIMIT)) == value
    for shell in (lambda inner: {"a": inner}, lambda inner: (inner,), lambda inner: [inner]):
        value = 1
        for _ in range(wire.MAX_DEPTH):
            value = shell(value)
        assert wire.decode(wire.encode(value, LIMIT)) == value
        assert wire.decode(wire.encode(shell(value), LIMIT)) != shell(value)  # one level too many
    parameter = torch.nn.Linear(2, 3).weight  # with gradients
    assert wire.decode(wire.encode(parameter, LIMIT)).data.shape == (3, 2)


DTYPES = "bool int8 int64 uint8 float16 bfloat16 float32 float64 complex64"


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_tensors_come_back(seed, dtype):
    tensor = (torch.randn(3, 1, 5) * 10).to(getattr(torch, dtype)).transpose(0, 2)
    array = wire.decode(wire.encode([tensor], LIMIT))[0]
    assert (array.kind, array.dtype, array.device) == ("tensor", dtype, "cpu")
    assert torch.equal(torch.from_numpy(array.data.copy()).to(tensor.dtype), tensor)


def test_arrays_come_back(seed):
    arrays = [np.random.randn(2, 0, 3), np.array(5), np.arange(12).reshape(3, 4).T, np.float32(2.5)]
    for before, after in zip(arrays, wire.decode(wire.encode(arrays, LIMIT))):
        assert (after.kind, after.dtype) == ("ndarray", before.dtype.name)
        assert np.array_equal(after.data, before)
    assert Answer(after, "the last").number() == 2.5


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (object(), "builtins.object"),
        (len, "builtin"),
        (torch.ones(2, device="meta"), "meta"),
        (torch.ones(2, 2).to_sparse(), "sparse"),
        (np.array(["a"]), "<U1"),
        (np.array([object()]), "object"),
        (10**40, "large integer"),
        ({1, 2}, "set"),
    ],
)
def test_what_is_no_data_is_described(value, what):
    other = wire.decode(wire.encode([value], LIMIT))[0]
    assert isinstance(other, wire.Other) and what in other.what


@pytest.mark.parametrize(
    "value",
    [torch.ones(LIMIT), torch.ones(1).expand(LIMIT), "x" * (LIMIT + 1), [np.ones(LIMIT // 9)] * 2],
    ids=["a tensor", "an expanded one", "a text", "two arrays"],
)
def test_large_messages_are_refused(value):
    with pytest.raises(wire.WireError, match="larger"):
        wire.encode(value, LIMIT)


TENSOR = {"kind": "tensor", "dtype": "float32", "device": "cpu", "stored": "float32"}
LYING_SHAPES = [2**40 - 1, 2**40 - 1], [-1], [True]


@pytest.mark.parametrize(
    "text",
    [
        *(json.dumps({"array": {**TENSOR, "shape": shape}}) for shape in LYING_SHAPES),
        json.dumps({"array": {**TENSOR, "stored": "object", "shape": [0]}}),
        json.dumps({"array": {**TENSOR, "dtype": "int64", "shape": [0]}}),
        '{"array": {}}',
        '{"dict": [1]}',
        '{"dict": [[[], 1]]}',
        '{"dict": [[{"tuple": [1, 2]}, 1]]}',  # any number of these could have the same hash
        '{"other": 1, "dict": 2}',
        '{"pickle": "x"}',
        *(opening * 2000 + "1" for opening in ("[", '{"tuple":[', '{"dict":[["a",')),
        "[" * 2000 + "]" * 2000,
        "9" * 4301,
        "1 2",
        "",
    ],
)
def test_messages_that_lie_are_refused(text):
    raw = text.encode()
    with pytest.raises(wire.WireError):
        wire.decode(len(raw).to_bytes(4, "little") + raw)
