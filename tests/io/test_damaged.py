"""Damaged files: each gives an error that names the file and the place, and no graph.

The files are made from sound ones, systematically, kind of damage by kind of damage. `test_number`
counts them.
"""

import bz2
import gzip
import lzma
import random
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

import weft
from weft.errors import FieldError, FileFormatError, GraphError

SNAP = "# Directed graph\n# Nodes: 9 Edges: 5\n0\t1\n3\t2\n2\t8\n8\t5\n7\t6\n"
TEXTS = {
    "plain.txt": SNAP,
    "weighted.wel": "# Nodes: 9 Edges: 4\n0 1 12\n3 2 0.5\n2 8 -3\n8 5 1e3\n",
    "named.csv": "# Nodes: 9 Edges: 4\nsrc,dst,weight\n0,1,12\n3,2,0.5\n2,8,-3\n8,5,1e3\n",
    "general.mtx": "%%MatrixMarket matrix coordinate real general\n% note\n9 9 4\n"
    "1 2 0.5\n3 2 1\n2 9 -3\n8 5 1e3\n",
    "pattern.mtx": "%%MatrixMarket matrix coordinate pattern symmetric\n9 9 4\n"
    "2 1\n3 2\n9 2\n8 5\n",
    "paths.gr": "c note\np sp 9 4\na 1 2 12\na 3 2 5\na 2 9 3\na 8 5 1\n",
    "width.gr": "c note\np tw 9 4\n1 2\n3 2\nc between\n2 9\n8 5\n",
    "plain.graph": "% note\n5 6\n2 3\n1 3 4\n1 2 5\n2 5\n3 4\n",
    "weighted.graph": "4 3 011\n7 2 5 3 6\n7 1 5\n7 1 6 4 8\n7 3 8\n",
}
# How many lines come before the first edge, and which holds the counts.
HEADS = {name: text.count("\n", 0, text.index(first)) for name, text, first in [
    ("plain.txt", SNAP, "0\t1"),
    ("weighted.wel", TEXTS["weighted.wel"], "0 1"),
    ("named.csv", TEXTS["named.csv"], "0,1"),
    ("general.mtx", TEXTS["general.mtx"], "1 2 0.5"),
    ("pattern.mtx", TEXTS["pattern.mtx"], "2 1"),
    ("paths.gr", TEXTS["paths.gr"], "a 1 2"),
    ("width.gr", TEXTS["width.gr"], "1 2"),
    ("plain.graph", TEXTS["plain.graph"], "2 3\n"),
    ("weighted.graph", TEXTS["weighted.graph"], "7 2 5"),
]}  # fmt: skip

NO_NUMBERS = (
    "x",
    "1x",
    "x1",
    "0x1",
    "1_0",
    "one",
    "--1",
    "1e",
    "\u0663",
    "\u00bd",
    "1:0",
    "'1'",
    "$",
)
HUGE = ("9223372036854775808", "10000000000000000000", "9" * 30, "9" * 400, "1" + "0" * 5000)
JUNK = b"\x00\x01\x80\xff\x7f\x1b"

Damaged = Iterator[tuple[str, bytes]]


def separator_of(name: str) -> str:
    return "," if name.endswith(".csv") else "\t" if name == "plain.txt" else " "


def edge_lines(name: str) -> list[tuple[int, list[str]]]:
    """Return the lines with edges: index and fields."""
    lines = TEXTS[name].splitlines()
    return [
        (k, lines[k].split(separator_of(name)))
        for k in range(HEADS[name], len(lines))
        if not lines[k].startswith(("#", "%", "c"))
    ]


def with_line(name: str, index: int, line: str) -> bytes:
    lines = TEXTS[name].splitlines()
    lines[index] = line
    return ("\n".join(lines) + "\n").encode()


def id_fields(name: str, fields: list[str]) -> list[int]:
    """Return which fields of a line are vertex ids."""
    if name == "weighted.graph":
        return list(range(1, len(fields), 2))
    if name == "plain.graph":
        return list(range(len(fields)))
    return [1, 2] if name == "paths.gr" else [0, 1]


def truncated(name: str) -> Damaged:
    """Whole lines are missing at the end, or a part of the last line."""
    lines = TEXTS[name].splitlines(keepends=True)
    for count in range(len(lines)):
        text = "".join(lines[:count])
        if name.endswith(".csv") and count == 0:
            continue
        yield name, text.encode()
        fields = lines[count].split(separator_of(name))
        if count >= HEADS[name] and len(fields) > 1:
            yield name, (text + separator_of(name).join(fields[:-1])).encode()


def wrong_counts(name: str) -> Damaged:
    lines = TEXTS[name].splitlines()
    heads = [k for k, line in enumerate(lines[: HEADS[name]]) if any(c.isdigit() for c in line)]
    for head in heads:
        parts = lines[head].split()
        for k, part in enumerate(parts):
            if not part.isdigit():
                continue
            comment = lines[head].startswith("#")
            wrong = ["99"] if comment else ["99", "-1", "x", "1.5", "1e3", *HUGE, ""]
            if comment and "Nodes" in parts[k - 1]:
                wrong = ["99999999999"]
            if name.endswith(".gr") and k == 2:
                wrong[0] = "1"  # more vertices than there are edges at are no damage
            if name == "weighted.graph" and k == 2:
                wrong = ["2", "x", "111", "-1", "1111"]
            for value in wrong:
                yield name, with_line(name, head, " ".join([*parts[:k], value, *parts[k + 1 :]]))


def no_numbers(name: str) -> Damaged:
    for index, fields in edge_lines(name):
        for k in range(name == "paths.gr", len(fields)):
            for bad in NO_NUMBERS:
                changed = [*fields[:k], bad, *fields[k + 1 :]]
                yield name, with_line(name, index, separator_of(name).join(changed))


def out_of_range(name: str) -> Damaged:
    for index, fields in edge_lines(name):
        for k in id_fields(name, fields):
            for bad in ("-1", "-0.5", "1.5", "99999999999", *HUGE):
                changed = [*fields[:k], bad, *fields[k + 1 :]]
                yield name, with_line(name, index, separator_of(name).join(changed))


def separators(name: str) -> Damaged:
    for index, fields in edge_lines(name):
        for other in (",", ";", "|", ":", "\x0b", "\u00a0", " , ", "\t,"):
            if other.strip() != separator_of(name) and len(fields) > 1:
                yield name, with_line(name, index, other.join(fields))


def numbers_of_fields(name: str) -> Damaged:
    for index, fields in edge_lines(name):
        yield name, with_line(name, index, separator_of(name).join([*fields, "1"]))
        yield name, with_line(name, index, separator_of(name).join(fields * 2))
        if len(fields) > 2:
            yield name, with_line(name, index, separator_of(name).join(fields[:-1]))


def binary(name: str) -> Damaged:
    raw = TEXTS[name].encode()
    begin = sum(len(line) for line in raw.splitlines(keepends=True)[: HEADS[name]])
    for at in range(begin, len(raw) - 1, 2):
        if not raw[at:].split(b"\n")[0].strip() or raw.rfind(b"c", 0, at) > raw.rfind(b"\n", 0, at):
            continue
        yield name, raw[:at] + JUNK + raw[at:]
    yield name, bytes(range(256))
    yield name, b"\x00" * 100
    yield name, np.random.default_rng(3).bytes(500)
    yield name, b"\x7fELF" + raw
    yield name, raw.decode().encode("utf-16")


def compressed(name: str) -> Damaged:
    raw = TEXTS[name].encode()
    packed = {".gz": gzip.compress(raw), ".xz": lzma.compress(raw), ".bz2": bz2.compress(raw)}
    for suffix, sound in packed.items():
        yield name + suffix, raw
        yield name + suffix, b""
        for other, data in packed.items():
            if other != suffix:
                yield name + suffix, data
        for cut in (1, 5, len(sound) // 2, len(sound) - 1):
            yield name + suffix, sound[:cut]
        for at in (0, 1, len(sound) // 2, len(sound) // 2 + 1, len(sound) - 6):
            yield name + suffix, sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :]
        yield name, sound
        yield name + suffix, {".gz": gzip, ".xz": lzma, ".bz2": bz2}[suffix].compress(b"")


KINDS = {
    kind.__name__: kind
    for kind in (
        truncated, wrong_counts, no_numbers, out_of_range, separators, numbers_of_fields, binary,
        compressed,
    )
}  # fmt: skip


def sound_binary(tmp_path, name: str) -> bytes:
    g = weft.Graph.from_edges([0, 3, 2, 4], [1, 2, 4, 0], [0.5, 2.0, 3.0, 1.0], num_vertices=6)
    if name.endswith(".weft"):
        g.vertex["age"] = np.arange(6, dtype=np.int16)
    weft.write(g, tmp_path / name)
    return (tmp_path / name).read_bytes()


def outcome(path, data: bytes) -> str:
    """Return nothing if reading gives a proper error about the file, else what happened."""
    path.write_bytes(data)
    try:
        g = weft.read(path)
    except FileFormatError as error:
        named = str(path) in str(error) and (error.line is not None or error.byte is not None)
        return "" if named and len(str(error)) < 2000 else f"{data[:300]!r}: {error}"
    except Exception as error:
        return f"{data[:300]!r}: {type(error).__name__} {error}"
    return f"{data[:300]!r}: read as {g}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path, name, kind):
    wrong = [outcome(tmp_path / file, data) for file, data in KINDS[kind](name)]
    assert wrong
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("name", TEXTS)
def test_the_sound_files_are_sound(tmp_path, name):
    (tmp_path / name).write_text(TEXTS[name], newline="")
    assert weft.read(tmp_path / name).num_edges in (3, 4, 5, 6)


def test_number():
    assert sum(1 for kind in KINDS.values() for name in TEXTS for _ in kind(name)) > 1000


@pytest.mark.parametrize("name", ["plain.txt", "general.mtx", "paths.gr", "weighted.graph"])
def test_empty(tmp_path, name):
    for data in (b"", b"\n", b"\n\n   \n", b"# only\n" if name == "plain.txt" else b"% x"):
        assert outcome(tmp_path / name, data) == ""


def test_the_place_is_right(tmp_path):
    for name in TEXTS:
        for index, fields in edge_lines(name):
            k = id_fields(name, fields)[0]
            changed = separator_of(name).join([*fields[:k], "oops", *fields[k + 1 :]])
            path = tmp_path / name
            path.write_bytes(with_line(name, index, changed))
            with pytest.raises(GraphError, match="oops") as caught:
                weft.read(path)
            assert caught.value.line == index + 1


def test_weft_every_changed_byte_is_found(tmp_path):
    sound = sound_binary(tmp_path, "g.weft")
    wrong = []
    for at in range(len(sound)):
        data = sound[:at] + bytes([sound[at] ^ (1 << at % 8)]) + sound[at + 1 :]
        wrong.append(outcome(tmp_path / "g.weft", data))
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_weft_every_cut_is_found(tmp_path):
    sound = sound_binary(tmp_path, "g.weft")
    cuts = [outcome(tmp_path / "g.weft", sound[:at]) for at in range(0, len(sound), 7)]
    cuts.append(outcome(tmp_path / "g.weft", sound + b"\0"))
    assert not any(cuts), "\n".join(filter(None, cuts))


HEAD_CHANGES = [
    (b'"num_vertices":6', b'"num_vertices":7'),
    (b'"num_vertices":6', b'"num_vertices":-'),
    (b'"num_edges":4', b'"num_edges":3'),
    (b'"num_edges":4', b'"num_edges":"'),
    (b'"directed":true', b'"directed":null'),
    (b'"directed":true', b'"directed":"yes'),
    (b'"keep":"both"', b'"keep":"neit"'),
    (b'"offsets"', b'"offsetz"'),
    (b'"int32"', b'"int16"'),
    (b'"int64"', b'"objec"'),
    (b'"edge/weight"', b'"wedg/weight"'),
    (b'"edge/weight"', b'"vertex/wei" '),
    (b'"shape":[7]', b'"shape":[9]'),
    (b'"shape":[7]', b'"shape":-7 '),
    (b'"shape":[4]', b'"shape":[{]'),
    (b'"at":0', b'"at":1'),
    (b'"arrays"', b'"harrys"'),
    (b'"num_edges":4', b'"num_edges":[]'),
    (b'"num_edges":4', b'"num_edges":4.'),
    (b'"num_vertices":6', b'"num_vertices":6.0'),
    (b'"vertex/age"', b'"vertex/old"'),
    (b'"vertex/age"', b'"vertex/a b"'),
    (b'"vertex/age"', b'"vertex/_ge"'),
    (b'"vertex/age"', b'"labels/age"'),
    (b'"vertex/age"', b'"labels/ends"'),
    (b'"vertex/age"', b'"edge/weight"'),
    (b'"edge/weight"', b'"edge/rank"'),
    (b'"edge/weight"', b'"edge/id"'),
    (b'"float64"', b'"bool"'),
    (b'"float64"', b'"float16"'),
    (b'"int16"', b'"complex64"'),
]


@pytest.mark.parametrize(("old", "new"), HEAD_CHANGES)
def test_weft_head_that_lies_with_a_fitting_checksum(tmp_path, old, new):
    sound = sound_binary(tmp_path, "g.weft")
    assert old in sound
    length = struct.unpack_from("<Q", sound, 16)[0]
    text = sound[64 : 64 + length].rstrip(b" ")
    head = text.replace(old, new, 1).ljust(length)
    assert len(head) == length
    data = sound[:12] + struct.pack("<I", zlib.crc32(head)) + sound[16:64] + head
    assert outcome(tmp_path / "g.weft", data + sound[64 + length :]) == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("offsets", [0, 9, 1, 1, 1, 1, 4]),
        ("offsets", [1, 1, 1, 2, 3, 4, 4]),
        ("targets", [1, 4, 2, 6]),
        ("targets", [1, -4, 2, 0]),
    ],
)
def test_weft_arrays_that_lie_with_a_fitting_checksum(tmp_path, name, values):
    g = weft.Graph.from_edges([0, 3, 2, 4], [1, 2, 4, 0], num_vertices=6)
    arcs = g.topology.out
    array = getattr(arcs, name)
    array.setflags(write=True)
    array[:] = values
    weft.write(g, tmp_path / "g.weft")
    data = (tmp_path / "g.weft").read_bytes()
    assert outcome(tmp_path / "g.weft", data) == ""


def test_weft_large_files_are_verified_on_demand(tmp_path, monkeypatch):
    from weft.io.formats import weft_binary

    sound = sound_binary(tmp_path, "g.weft")
    monkeypatch.setattr(weft_binary, "ALWAYS_VERIFIED_BYTES", 0)
    weft.read(tmp_path / "g.weft", verify=True)
    (tmp_path / "g.weft").write_bytes(sound[:-64] + b"\1" + sound[-63:])
    assert weft.read(tmp_path / "g.weft").num_vertices == 6
    with pytest.raises(FileFormatError, match="checksum of the array 'vertex/age'"):
        weft.read(tmp_path / "g.weft", verify=True)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "g.parquet"
    sound = sound_binary(tmp_path, path.name)
    wrong = [outcome(path, sound[:at]) for at in range(0, len(sound), 29)]
    footer = len(sound) - 8 - struct.unpack_from("<I", sound, len(sound) - 8)[0]
    wrong += [outcome(path, data) for data in (b"", b"PAR1", b"PAR1" * 3, b"x" * 100)]
    assert not any(wrong), "\n".join(filter(None, wrong))
    # Nothing protects the footer: a change there may go unseen, but must not do any harm.
    # (PyArrow ends the process if it is asked for the metadata of a damaged column.)
    flips = [(at, 1 << at % 8) for at in range(4, len(sound) - 4, 10)]
    flips += [(at, 1) for at in range(8, len(sound) - 4, 10)]
    for at, bit in flips:
        data = sound[:at] + bytes([sound[at] ^ bit]) + sound[at + 1 :]
        found = outcome(path, data)
        assert not found or (": read as Graph(" in found), (at, footer, found)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [2]}, "the columns are 'a', 'b'. Expected 'src' and 'dst'"),
        ({"src": ["x"], "dst": [1]}, "'src' holds text and 'dst' does not"),
        ({"src": ["x", None], "dst": ["y", "z"]}, "1 entries are missing"),
        ({"src": [0.5], "dst": [1.0]}, "the column 'src' has the dtype float64"),
        ({"src": [0, -3], "dst": [1, 1]}, "src of row 1 is -3"),
        ({"src": [0, None], "dst": [1, 1]}, "1 entries are missing"),
        ({"src": [0], "dst": [99999999999]}, "this makes 100000000000 vertices"),
        ({"src": [0], "dst": [1], "id": [1]}, "'id' cannot name a column.*of every edge"),
        ({"src": [0], "dst": [1], "two words": [1]}, "'two words' cannot name a column"),
        ({"src": [0], "dst": [1], "_x": [1]}, "'_x' cannot name a column"),
        ({"src": [0], "dst": [1], "weight": [True]}, "weight has dtype bool"),
        ({"src": [0], "dst": [1], "weight": [np.float16(1)]}, "weight has dtype float16"),
        ({"src": [0], "dst": [1], "x": [np.float16(1)]}, "'x' has dtype float16"),
    ],
)
def test_parquet_that_is_no_graph(tmp_path, columns, message):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), tmp_path / "g.parquet")
    with pytest.raises(FileFormatError, match=message):
        weft.read(tmp_path / "g.parquet")


def test_parquet_columns_can_be_chosen(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "g.parquet"
    table = {"id": [7], "src": [0], "dst": [1], "name": ["x"], "weight": [2.5], "lanes": [3]}
    parquet.write_table(pyarrow.table(table), path)
    assert list(weft.read(path, columns=("src", "dst", "weight")).edge) == ["weight"]
    assert list(weft.read(path, columns=["dst", "lanes", "src"]).edge) == ["lanes"]
    for columns in (("src",), ("src", "dst", "oops"), ()):
        with pytest.raises(FileFormatError, match="Expected 'src', 'dst' and any of 'id'"):
            weft.read(path, columns=columns)


@pytest.mark.parametrize("name", ["g.weft", "g.parquet"])
def test_columns_that_could_not_be_read_are_not_written(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    topology = weft.Graph.from_edges([0], [1]).topology
    with pytest.raises(FieldError, match="'id' cannot name a column"):
        weft.write(weft.Graph(topology, edge={"id": np.ones(1)}), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TEXTS)
def test_random_damage_never_does_harm(tmp_path, name):
    """Whatever the bytes are, there is a graph or a proper error."""
    rng = random.Random(7)
    raw = TEXTS[name].encode()
    path = tmp_path / name
    for _ in range(60):
        data = bytearray(raw)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + rng.randrange(1, 9)]
                case 2:
                    data[at:at] = data[rng.randrange(len(data)) :][: rng.randrange(1, 9)]
                case 3:
                    data[at] = rng.choice(b"0123456789 \n\t,.-e")
            if not data:
                break
        found = outcome(path, bytes(data))
        assert not found or ": read as Graph(" in found, found
