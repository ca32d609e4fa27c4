"""Sketches as files: nothing is lost, nothing but a whole and consistent sketch is read, and nothing in a file is executed."""

import hashlib
import io
import json
import pickle
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate import count_coding
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_file import from_bytes, to_bytes
from copula_discrepancy.estimate.sketch_reading import pair_counts


def require_same(one, other):
    """Two sketches that are equal in everything, to the last bit."""
    assert one.plan_.same_as(other.plan_) is None
    for mine, theirs in zip(one.plan_.columns, other.plan_.columns, strict=True):
        np.testing.assert_array_equal(mine.shares, theirs.shares)
        assert (mine.edges.dtype, mine.single.dtype) == (theirs.edges.dtype, theirs.single.dtype)
    for key in ("serial", "missing_ok", "named", "n_pilot", "chained", "notes", "left_out", "triples"):
        assert getattr(one.plan_, key) == getattr(other.plan_, key)
    assert (one.n, one.block_rows, one.chain_rows, one.source) == (other.n, other.block_rows, other.chain_rows, other.source)
    assert one.counts.dtype == other.counts.dtype
    np.testing.assert_array_equal(one.counts, other.counts)
    for mine, theirs in zip(one.margins, other.margins, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.blocks.keys() == other.blocks.keys()
    for key, block in one.blocks.items():
        np.testing.assert_array_equal(block, other.blocks[key])
        assert block.dtype == other.blocks[key].dtype
    assert (one.triples is None) == (other.triples is None)
    if one.triples is not None:
        assert one.triples.same_as(other.triples)
        np.testing.assert_array_equal(one.triples.counts, other.triples.counts)
        np.testing.assert_array_equal(one.triples.sums, other.triples.sums)


def frame(n=3000, seed=1):
    """Numbers, ties, levels with and without order, truth values, dates and missing values."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.1], [0.8, 1, -0.4], [0.1, -0.4, 1]], n)
    found = pd.DataFrame(x, columns=["a", "b", 'c "quoted"\u2028'])
    found["level"] = np.where(x[:, 0] + rng.normal(size=n) > 0, "p", "q")
    found["few"] = rng.integers(0, 5, n)
    found["true"] = x[:, 1] > 0
    found["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.floor(30 * x[:, 2]), "D")
    found.loc[::7, "b"] = np.nan
    found.loc[::11, "level"] = None
    return found


def small(serial=True, n=400):
    """A sketch of two columns in few bins, whose file is short."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 1)) + rng.normal(size=(n, 2))
    return DependenceSketch.of(x, iid=not serial, resolution=16)


SKETCHES = {
    "independent": lambda: DependenceSketch.of(frame(), iid=True),
    "serial": lambda: DependenceSketch.of(frame()),
    "empty": lambda: DependenceSketch.plan(frame()),
    "chains": lambda: DependenceSketch.of(np.random.default_rng(1).normal(size=(4, 700, 3))),
    "triples": lambda: DependenceSketch.of(np.random.default_rng(1).normal(size=(2000, 4)), iid=True, triples=True),
    "coarse": small,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SKETCHES)
def test_a_file_holds_everything(kind, tmp_path):
    sketch = SKETCHES[kind]()
    path = sketch.save(tmp_path / "rows.sketch")
    require_same(sketch, DependenceSketch.load(path))
    require_same(sketch, pickle.loads(pickle.dumps(sketch)))
    for level in (0, 1, 9):
        require_same(sketch, from_bytes(to_bytes(sketch, level=level)))
    assert [one.name for one in tmp_path.iterdir()] == ["rows.sketch"]


def test_loaded_sketches_go_on():
    rows = frame()
    half, whole = DependenceSketch.plan(rows), DependenceSketch.plan(rows)
    half.update(rows[:1500], start=0)
    rest = from_bytes(to_bytes(DependenceSketch.empty(half.plan_))).update(rows[1500:], start=1500)
    require_same(whole.update(rows[:1500], start=0).update(rows[1500:], start=1500), from_bytes(to_bytes(half)).merge(rest))
    given = DependenceSketch.of(rows.iloc[:, [0, 2]], iid=True)
    assert cd.pairwise(from_bytes(to_bytes(given)), cd.Frank(1.0)).worst.tau == cd.pairwise(given, cd.Frank(1.0)).worst.tau


def test_counts_beyond_four_bytes():
    sketch = small(serial=True)
    sketch.counts = sketch.counts.astype(np.uint64) * np.uint64(2**25)
    sketch.margins = tuple(margin * 2**25 for margin in sketch.margins)
    sketch.n *= 2**25
    sketch.chain_rows = {0: sketch.n}
    sketch.blocks = {key: block * np.uint32(2**25) for key, block in sketch.blocks.items()}
    require_same(sketch, from_bytes(to_bytes(sketch)))


def test_equal_sketches_have_equal_files():
    assert to_bytes(small()) == to_bytes(small())


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 2), (16, 17)])
def test_coded_tables_of_any_shape(shape):
    rng = np.random.default_rng(0)
    tables = rng.integers(0, [[[1]], [[9]], [[2**40]]], (3, *shape))
    margins = tables.sum(axis=2), tables.sum(axis=1)
    writer = count_coding.Writer()
    count_coding.write_tables(writer, tables, margins)
    data, described = writer.finish(1)
    reader = count_coding.Reader(memoryview(data), described, tables.size)
    np.testing.assert_array_equal(count_coding.read_tables(reader, tables.sum(axis=(1, 2)), margins), tables)
    reader.require_end()


def test_size_is_near_what_chance_allows():
    # counts of 14,400 cells around a smooth surface: the entropy of Poisson counts of mean 69 or more is below 5.2 bits
    rng = np.random.default_rng(5)
    table = rng.poisson(69.0, (8, 120, 120))
    writer = count_coding.Writer()
    count_coding.write_tables(writer, table, (table.sum(axis=2), table.sum(axis=1)))
    assert len(writer.finish(1)[0]) < 1.03 * 5.11 / 8 * table.size  # 0.5 log2(2 pi e 69) = 5.10


# ---- what is refused ----------------------------------------------------------------------------------------------------


def refusal(data):
    """The message about bytes that are no sketch; every one is an InputError of code "file" that names it."""
    with pytest.raises(cd.InputError) as caught:
        from_bytes(data, label="x.sketch")
    assert caught.value.code == "file"
    assert str(caught.value).startswith("x.sketch")
    return str(caught.value)


def loaded(data):
    """The sketch, or None if it is refused; any other exception fails the test."""
    try:
        return from_bytes(data)
    except cd.InputError:
        return None


def rewritten(data, change=None, members=None, compression=zipfile.ZIP_STORED):
    """The archive with another header or other members, whose checksums are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= members or {}
    header = json.loads(content["header.json"])
    for name, member in content.items():
        if name in header["members"] and member is not None:
            header["members"][name] |= {"size": len(member), "sha256": hashlib.sha256(member).hexdigest()}
    if change is not None:
        change(header)
    content["header.json"] = json.dumps(header).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, member in content.items():
            if member is not None:
                archive.writestr(name, member)
    return buffer.getvalue()


def test_rewriting_alone_changes_nothing():
    require_same(small(), from_bytes(rewritten(to_bytes(small()))))


def test_one_byte_at_every_position():
    sketch = small(n=60)
    data = to_bytes(sketch)
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        found = loaded(bytes(changed))
        if found is None:
            refused += 1
        else:
            require_same(sketch, found)
    assert refused > 0.8 * len(data)  # the others are times and attributes of members


def test_cut_off_at_many_positions():
    data = to_bytes(small())
    for size in [*range(64), *range(64, len(data), 37), len(data) - 1]:
        refusal(data[:size])


def test_random_bytes():
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 30, 1000):
        refusal(rng.bytes(size))
        refusal(b"PK" + rng.bytes(size))
    refusal("text")
    refusal(None)


HEADERS = {
    "no magic": (lambda h: h.pop("magic"), "not a sketch"),
    "newer": (lambda h: h.update(format=2, version="9.0"), "newer version"),
    "unknown": (lambda h: h.update(format="x"), "unknown format"),
    "no format": (lambda h: h.pop("format"), "unknown format"),
    "no columns": (lambda h: h.pop("columns"), "columns"),
    "columns": (lambda h: h.update(columns=3), "columns"),
    "one column": (lambda h: h["columns"].pop(), "2 to"),
    "many bins": (lambda h: h["columns"][0].update(bins=10**12), "bins"),
    "more bins": (lambda h: h["columns"][0].update(bins=h["columns"][0]["bins"] + 1), "size"),
    "many columns": (lambda h: h.update(columns=[{"bins": 240}] * 2400), "counts"),
    "very many columns": (lambda h: h.update(columns=[{"bins": 1}] * 10**5), "2 to"),
    "same name": (lambda h: h["columns"][0].update(name=h["columns"][1]["name"]), "names"),
    "no name": (lambda h: h["columns"][0].update(name=""), "names"),
    "name": (lambda h: h["columns"][0].update(name=3), "name"),
    "kind": (lambda h: h["columns"][0].update(kind="colour"), "kind"),
    "kind of numbers": (lambda h: h["columns"][0].update(kind="nominal"), "labels"),
    "labels": (lambda h: h["columns"][0].update(labels=["a", "b"]), "labels"),
    "label": (lambda h: h["columns"][0].update(labels=[1]), "labels"),
    "n": (lambda h: h.update(n=h["n"] + 1), "chains"),
    "n and chains": (lambda h: h.update(n=h["n"] + 1, chain_rows=[[0, h["n"] + 1]]), "rows"),
    "negative n": (lambda h: h.update(n=-1), "rows"),
    "n is true": (lambda h: h.update(n=True), "rows"),
    "huge n": (lambda h: h.update(n=10**30), "rows"),
    "nan": (lambda h: h.update(n=float("nan")), "number"),
    "serial": (lambda h: h.update(serial=False), "blocks"),
    "serial text": (lambda h: h.update(serial="yes"), "serial"),
    "notes": (lambda h: h.update(notes=[3]), "notes"),
    "left out": (lambda h: h.update(left_out=[["a"]]), "left out"),
    "chains": (lambda h: h.update(chain_rows=[[0, 1], [0, 399]]), "chains"),
    "block order": (lambda h: h["blocks"].reverse(), "order"),
    "block twice": (lambda h: h["blocks"].append(h["blocks"][-1]), "order"),
    "blocks lost": (lambda h: h.update(blocks=[]), "blocks"),
    "block rows": (lambda h: h["blocks"][0].__setitem__(2, h["blocks"][0][2] + 1), "chains"),
    "blocks": (lambda h: h.update(blocks=[[0, 0]]), "blocks"),
    "blocks of no rows": (lambda h: h.update(block_rows=0), "blocks"),
    "source": (lambda h: h.update(source=None), "source"),
    "triples": (lambda h: h.update(triples=True), ""),
    "members": (lambda h: h.update(members=[]), "checksum"),
    "checksum": (lambda h: h["members"]["counts"].update(sha256="0"), "checksum"),
    "classes": (lambda h: h["members"]["counts"].update(classes=[[0, 10**12, 0, 5]]), "described"),
    "class twice": (lambda h: h["members"]["counts"]["classes"].append(h["members"]["counts"]["classes"][0]), ""),
    "class lost": (lambda h: h["members"]["counts"]["classes"].pop(), ""),
    "class of text": (lambda h: h["members"]["counts"].update(classes=[["a", 1, 1, 1]]), "counts"),
    "class bits": (lambda h: h["members"]["counts"]["classes"][0].__setitem__(2, 70), "described"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_is_wrong(kind):
    change, word = HEADERS[kind]
    assert word in refusal(rewritten(to_bytes(small()), change))


def numbers(data, dtype, change):
    values = np.frombuffer(zlib.decompress(data), dtype).copy()
    change(values)
    return count_coding.packed(values.tobytes(), 1)


MEMBERS = {
    "edges not sorted": ("edges", "<f8", lambda v: v.__setitem__(slice(0, 2), v[1::-1].copy()), "edges"),
    "edges not finite": ("edges", "<f8", lambda v: v.__setitem__(-1, np.inf), "edges"),
    "edges nan": ("edges", "<f8", lambda v: v.__setitem__(3, np.nan), "edges"),
    "edges equal": ("edges", "<f8", lambda v: v.__setitem__(1, v[0]), "edges"),
    "flags": ("single", "|u1", lambda v: v.__setitem__(0, 2), "flags"),
    "shares": ("shares", "<f8", lambda v: v.__setitem__(0, np.nan), "shares"),
    "margins": ("margins", "<i8", lambda v: v.__setitem__(0, v[0] + 1), "rows"),
    "negative margins": ("margins", "<i8", lambda v: v.__setitem__(slice(0, 2), (-1, v[0] + v[1] + 1)), "rows"),
    "margins that overflow": ("margins", "<i8", lambda v: v.__iadd__(2**62), "rows"),
    "margins of other counts": ("margins", "<i8", lambda v: v.__setitem__(slice(0, 2), (v[0] + 1, v[1] - 1)), ""),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_numbers_that_are_wrong(kind):
    name, dtype, change, word = MEMBERS[kind]
    data = to_bytes(small())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        member = numbers(archive.read(name), dtype, change)
    assert word in refusal(rewritten(data, members={name: member}))


@pytest.mark.parametrize("name", ["edges", "single", "shares", "margins", "counts", "blocks"])
def test_members_that_are_wrong(name):
    data = to_bytes(small())
    refusal(rewritten(data, members={name: None}))  # not there
    refusal(rewritten(data, members={name: b""}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        member = archive.read(name)
    refusal(rewritten(data, members={name: member + b"x"}))
    refusal(rewritten(data, members={name: member[:-3]}))
    refusal(rewritten(data, members={name: count_coding.packed(bytes(10**7), 9)}))  # much longer than it should be
    with zipfile.ZipFile(io.BytesIO(to_bytes(small(serial=False)))) as archive:
        refusal(rewritten(data, members={name: archive.read(name)[::-1]}))


def test_counts_with_right_checksums_but_wrong_values():
    data = to_bytes(small(n=60))
    sketch = from_bytes(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in ("counts", "blocks")}
    rng = np.random.default_rng(0)
    for name, member in members.items():
        for place in range(0, len(member), 3):
            changed = bytearray(member)
            changed[place] ^= int(rng.integers(1, 256))
            found = loaded(rewritten(data, members={name: bytes(changed)}))
            if found is None:
                continue
            # other counts with the same margins are a sketch as well: what was read adds up
            for i, j in found.plan_.pairs:
                np.testing.assert_array_equal(pair_counts(found, i, j).sum(axis=1), sketch.margins[i])
                np.testing.assert_array_equal(pair_counts(found, i, j).sum(axis=0), sketch.margins[j])


def test_archives_that_are_no_sketch():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "text")
    assert "not a sketch" in refusal(buffer.getvalue())
    assert "compressed in another way" in refusal(rewritten(to_bytes(small()), compression=zipfile.ZIP_DEFLATED))
    assert "other members" in refusal(rewritten(to_bytes(small()), members={"code.py": b"print(1)"}))
    for header in (b"[" * 100_000, b"null", b"3", b"\xff", b'{"magic": 1}'):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("header.json", header)
        refusal(buffer.getvalue())


def test_infinite_edges_are_not_saved():
    sketch = small()
    sketch.plan_.columns[0].edges[-1] = np.inf
    with pytest.raises(cd.InputError, match="infinite edges"):
        to_bytes(sketch)


def test_paths(tmp_path):
    sketch = small()
    path = tmp_path / "a.sketch"
    sketch.save(str(path))
    before = path.read_bytes()
    cases = [
        lambda: DependenceSketch.plan(frame()).save(path),
        lambda: sketch.save(tmp_path),
        lambda: sketch.save(tmp_path / "nowhere" / "a.sketch"),
        lambda: sketch.save(3),
        lambda: sketch.save("a\0b"),
        lambda: DependenceSketch.load(tmp_path / "none.sketch"),
        lambda: DependenceSketch.load(tmp_path),
        lambda: DependenceSketch.load(None),
    ]
    for case in cases:
        with pytest.raises(cd.InputError) as caught:
            case()
        assert caught.value.code == "file"
    assert path.read_bytes() == before
    sketch.save(path, force=True)
    with pytest.raises(cd.InputError, match="force"):
        sketch.save(path, force=1)
    with pytest.raises(cd.InputError, match="level"):
        to_bytes(sketch, level=10)
    with pytest.raises(cd.InputError, match="DependenceSketch"):
        to_bytes(3)
