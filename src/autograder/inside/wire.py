"""The message format between judge and student: JSON and raw arrays, never pickle.

A message is a JSON text followed by the bytes of its arrays, in order. Plain values (None,
booleans, numbers, strings, lists) are themselves in the JSON; everything else is an object with one
key that names its kind: {"dict": [[key, value], ...]}, {"tuple": [...]}, {"array": {...}}, or
{"other": "what it was"} for what cannot be sent. The reader trusts nothing: sizes, dtypes, shapes
and nesting are checked before an array is created.
"""

import json
import os
import struct
from dataclasses import dataclass

import numpy as np

DTYPES = """
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
""".split()
TEXT_LIMIT = 8 << 20  # bytes of JSON, which is slow to parse
MAX_DEPTH = 12
KEYS = (str, int)  # of dicts; of other types, any number of keys could have the same hash
MAX_DIMENSIONS = 8


class WireError(ValueError):
    """A message that is malformed or too large."""


@dataclass(frozen=True)
class Array:
    """A tensor or array that was sent.

    kind is "tensor" (torch) or "ndarray" (NumPy); dtype its name there, e.g. "bfloat16"; device as
    torch names it. data is a NumPy array of that dtype, except that bfloat16 becomes float32, which
    represents all its values.
    """

    data: np.ndarray
    kind: str = "ndarray"
    dtype: str = ""
    device: str = "cpu"


@dataclass(frozen=True)
class Other:
    """Stands for an object that is not data; `what` describes it."""

    what: str


def describe(value) -> str:
    """A description of a value for a student: "a float32 tensor of shape (3, 4)", "a list of 3",
    "None".
    """
    if isinstance(value, Array):
        device = "" if value.device == "cpu" else f" on device {value.device}"
        noun = "tensor" if value.kind == "tensor" else "NumPy array"
        article = "an" if value.dtype.startswith("int") else "a"
        return f"{article} {value.dtype} {noun} of shape {tuple(value.data.shape)}{device}"
    if isinstance(value, Other):
        return value.what
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, str):
        return f"the string {value[:60]!r}"
    return repr(value)[:60]


def encode(value, limit: int) -> bytes:
    """A message with `value`: None, booleans, numbers, strings, lists, tuples, dicts, NumPy arrays,
    torch tensors.

    Raises:
        WireError: the message would be larger than `limit` bytes.
    """
    buffers = []
    size = 0

    def array(data, kind, dtype, device):
        nonlocal size
        size += data.nbytes
        if size > limit:
            raise WireError(f"the result is larger than {limit / 2**20:.0f} MiB")
        buffers.append(np.ascontiguousarray(data).tobytes())
        return {
            "array": {
                "kind": kind,
                "dtype": dtype,
                "device": device,
                "stored": data.dtype.name,
                "shape": list(data.shape),
            }
        }

    def plain(value, depth):
        if depth > MAX_DEPTH:
            return {"other": "a deeply nested object"}
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            if kind is int and abs(value) >= 2**63:
                return {"other": "a very large integer"}
            return value.encode("utf-8", "replace").decode() if kind is str else value
        if kind is list:
            return [plain(item, depth + 1) for item in value]
        if isinstance(value, tuple):  # also one with names
            return {"tuple": [plain(item, depth + 1) for item in value]}
        if kind is dict or kind.__name__ == "OrderedDict":
            return {"dict": [[key_of(key), plain(item, depth + 1)] for key, item in value.items()]}
        if isinstance(value, Array):
            return array(value.data, value.kind, value.dtype, value.device)
        if isinstance(value, (np.ndarray, np.generic)):
            data = np.asarray(value)
            return (
                array(data, "ndarray", data.dtype.name, "cpu")
                if data.dtype.name in DTYPES
                else {"other": f"an array of {data.dtype}"}
            )
        if hasattr(value, "detach") and hasattr(value, "is_sparse"):
            return tensor(value)
        return {"other": f"an object of type {kind.__module__}.{kind.__qualname__}"[:200]}

    def key_of(key):
        return plain(key, 0) if type(key) in KEYS else f"a key of type {type(key).__name__}"[:200]

    def tensor(value):
        dtype, device = str(value.dtype).removeprefix("torch."), str(value.device)
        if device == "meta" or str(value.layout) != "torch.strided":
            return {"other": f"a tensor of layout {value.layout} on device {device}"}
        # an expanded tensor is small until it is copied
        if value.nelement() * value.element_size() > limit:
            raise WireError(f"the result is larger than {limit / 2**20:.0f} MiB")
        data = value.detach().cpu().resolve_conj().resolve_neg()
        data = (data.float() if dtype == "bfloat16" else data).numpy()
        return (
            array(data, "tensor", dtype, device)
            if data.dtype.name in DTYPES
            else {"other": f"a tensor of {dtype}"}
        )

    text = json.dumps(plain(value, 0)).encode()
    if size + len(text) > limit or len(text) > TEXT_LIMIT:
        raise WireError(f"the result is larger than {limit / 2**20:.0f} MiB")
    return struct.pack("<I", len(text)) + text + b"".join(buffers)


def decode(message: bytes | bytearray):
    """The value in a message; every array is an `Array`, and what could not be sent is an `Other`.

    Raises:
        WireError: the message is malformed.
    """
    try:
        (length,) = struct.unpack_from("<I", message)
        if length > TEXT_LIMIT:
            raise WireError("not a message: too much text")
        tree = json.loads(message[4 : 4 + length].decode("utf-8"))
        rest = memoryview(message)[4 + length :]
        value, used = _rebuild(tree, rest, 0, 0)
    except (
        struct.error,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise WireError(f"not a message: {error}") from None
    if used != len(rest):
        raise WireError("not a message: bytes are left over")
    return value


def _rebuild(node, rest, used, depth):
    """The value of a JSON node, and how many bytes of `rest` have been used after it."""
    if depth > MAX_DEPTH + 1:  # there, encode() puts an "other"
        raise WireError("nested too deeply")
    if isinstance(node, str):
        return clean(node), used
    if node is None or isinstance(node, (bool, int, float)):
        if isinstance(node, int) and abs(node) >= 2**63:
            raise WireError("a very large integer")
        return node, used
    if isinstance(node, list):
        items = []
        for child in node:
            item, used = _rebuild(child, rest, used, depth + 1)
            items.append(item)
        return items, used
    ((kind, content),) = node.items()
    if kind == "tuple":
        items, used = _rebuild(list(content), rest, used, depth)
        return tuple(items), used
    if kind == "dict":
        # the list of pairs and each pair are no levels of the value
        pairs, used = _rebuild([list(pair) for pair in content], rest, used, depth - 1)
        if not all(type(key) in KEYS for key, _ in pairs):
            raise WireError("a bad key")
        return dict(pairs), used
    if kind == "other":
        return Other(clean(str(content)[:200])), used
    if kind == "array":
        return _rebuild_array(content, rest, used)
    raise WireError(f"unknown kind {str(kind)[:40]!r}")


def _rebuild_array(content, rest, used):
    shape, stored = content["shape"], content["stored"]
    if (
        stored not in DTYPES
        or len(shape) > MAX_DIMENSIONS
        or not all(type(n) is int and 0 <= n < 2**40 for n in shape)
    ):
        raise WireError("a bad array")
    dtype = np.dtype(stored).newbyteorder("<")
    count = 1
    for n in shape:
        count *= n
    if used + count * dtype.itemsize > len(rest):
        raise WireError("an array without its bytes")
    data = np.frombuffer(rest, dtype, count, used).reshape(shape)
    if stored == "bool" and data.view("uint8").max(initial=0) > 1:  # neither true nor false
        raise WireError("a bad array")
    kind, name, device = (clean(str(content[key])[:20]) for key in ("kind", "dtype", "device"))
    if name != stored and (kind, name, stored) != ("tensor", "bfloat16", "float32"):
        raise WireError("an array of another dtype than it says")
    return Array(data, kind, name, device), used + count * dtype.itemsize


def clean(text: str) -> str:
    """Text that can be written as UTF-8: each lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def write_frame(stream, content: bytes) -> None:
    """Write a byte string to an unbuffered stream, preceded by its length."""
    _write(stream, struct.pack("<Q", len(content)))
    _write(stream, content)


def read_frame(stream, limit: int) -> bytearray:
    """Read a byte string that write_frame or send_file wrote.

    Raises:
        EOFError: the stream ended.
        WireError: it is longer than `limit`.
    """
    content = bytearray(_length(stream, limit))
    _read(stream, content)
    return content


def send_file(stream, file, most: int) -> None:
    """Write the last `most` bytes of a file as a frame. Both are unbuffered, so that nothing of it
    stays in this process's memory.
    """
    size = file.seek(0, os.SEEK_END)
    length = min(size, most)
    file.seek(size - length)
    _write(stream, struct.pack("<Q", length))
    _copy(file, stream, length)


def receive_file(stream, file, limit: int) -> None:
    """Write a frame's content to a file, as send_file reads it; raises as read_frame does."""
    _copy(stream, file, _length(stream, limit))


def _length(stream, limit):
    header = bytearray(8)
    _read(stream, header)
    (length,) = struct.unpack("<Q", header)
    if length > limit:
        raise WireError(f"a message of {length} bytes; the limit is {limit}")
    return length


def _copy(source, target, length):
    buffer = memoryview(bytearray(min(length, 1 << 20)))
    while length:
        part = buffer[:length]
        _read(source, part)
        _write(target, part)
        length -= len(part)
    buffer[:] = bytes(len(buffer))


def _read(stream, content):
    with memoryview(content) as rest:
        read = 0
        while read < len(rest):
            count = stream.readinto(rest[read:])
            if not count:
                raise EOFError("the stream ended")
            read += count


def _write(stream, content):
    with memoryview(content) as rest:
        written = 0
        while written < len(rest):
            written += stream.write(rest[written:])
