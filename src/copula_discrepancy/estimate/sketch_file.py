"""Sketches as files: a ZIP archive with a header in JSON and members of numbers. A file of a stranger is data, never code.

Members are stored as they are, so that the archive is never larger in memory than as a file; numbers are deflated within them,
and all sizes follow from the header, which is checked before anything is allocated.
"""

import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import is_whole, true_or_false
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import written_whole
from copula_discrepancy.estimate.count_coding import packed, unpacked
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_counts import (
    MOST_ROWS,
    block_bytes,
    block_sizes,
    blocks_from,
    coarse_counts,
    sum_bytes,
    sums_from,
    table_bytes,
    tables_from,
    triple_bytes,
    triples_from,
)
from copula_discrepancy.estimate.sketch_header import MAGIC, Header, header_of, require_size
from copula_discrepancy.estimate.sketch_plan import SketchPlan

FORMAT = 1
_HEADER = "header.json"
_NUMBERS = {"edges": "<f8", "single": "|u1", "shares": "<f8", "margins": "<i8"}
_CODED = ("counts", "blocks", "triples", "sums")
_WAY_OUT = "use a path in a writable folder"
_AGAIN = "copy it again, or make the sketch again from the rows"
# what zipfile raises for archives that are cut off, changed, or of kinds that it does not read
_NOT_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error, EOFError, OSError, OverflowError, KeyError)


def save(sketch: DependenceSketch, path: Any, *, force: bool = False, level: int = 1) -> Path:
    """The path of the file, written whole or not at all; see `DependenceSketch.save`."""
    overwrite = true_or_false(force, "force")
    checked = _checked_path(path)
    if checked.is_dir():
        raise InputError(f"{checked} is a folder, so no file with that name can be written; use another name", "file")
    if os.path.lexists(checked) and not overwrite:
        raise InputError(f"{checked} already exists; use another name or overwrite with force=True", "file")
    data = to_bytes(sketch, level=level)
    with written_whole(checked, _WAY_OUT, replace=overwrite) as temporary:
        temporary.write_bytes(data)
    return checked


def load(path: Any) -> DependenceSketch:
    """The sketch in a file; see `DependenceSketch.load`."""
    checked = _checked_path(path)
    try:
        data = checked.read_bytes()
    except OSError as error:
        raise InputError(f"{checked} cannot be read: {error.strerror or error}; check the path", "file") from None
    except MemoryError:
        raise InputError(f"{checked} does not fit into memory; is it a sketch?", "file") from None
    return from_bytes(data, label=str(checked))


def _checked_path(path: Any) -> Path:
    try:
        checked = Path(path)
    except TypeError:
        raise InputError(f"path must be the path of a file, such as 'rows.sketch', got {path!r:.60}", "file") from None
    if "\0" in str(checked):
        raise InputError(f"{str(path)!r:.80}: a path cannot contain a null character; use another name", "file")
    return checked


def to_bytes(sketch: DependenceSketch, *, level: int = 1) -> bytes:
    """The sketch as bytes, in the format of files; what `from_bytes` makes of them is equal to it in everything.

    Parameters
    ----------
    sketch : DependenceSketch
        The sketch.
    level : int
        How much time to spend on compression, from 0, none, to 9. More than 1 saves next to nothing.
    """
    if not isinstance(sketch, DependenceSketch):
        raise InputError(f"sketch must be a DependenceSketch, got {type(sketch).__name__}")
    if not is_whole(level) or not 0 <= level <= 9:
        raise InputError(f"level must be a whole number from 0 to 9, got {level!r}")
    columns = sketch.plan_.columns
    require_size(sketch.plan_.widths.tolist(), sketch.plan_.coarse_widths.tolist(), len(sketch.blocks))
    for column in columns:
        if not np.isfinite(column.edges).all():
            raise InputError(f"column {column.name} has bins with infinite edges, which cannot be saved", "file")
    if sketch.n >= MOST_ROWS:
        raise InputError(f"a sketch of {sketch.n:,} rows cannot be saved: the most are {MOST_ROWS:,}", "file")
    values: dict[str, list[NDArray[Any]]] = {
        "edges": [column.edges for column in columns],
        "single": [column.single for column in columns],
        "shares": [column.shares for column in columns],
        "margins": list(sketch.margins),
    }
    members = {name: packed(np.concatenate(parts).astype(_NUMBERS[name]).tobytes(), level) for name, parts in values.items()}
    coded: dict[str, list[list[int]]] = {"blocks": [], "triples": [], "sums": []}
    members["counts"], coded["counts"] = table_bytes(sketch, level)
    members |= {"blocks": b"", "triples": b"", "sums": b""}
    rows = np.empty(0, np.int64)
    if sketch.blocks:
        members["blocks"], coded["blocks"] = block_bytes(sketch, level)
        rows = block_sizes(sketch)
    if sketch.triples is not None:
        members["triples"], coded["triples"] = triple_bytes(sketch, level)
        members["sums"] = sum_bytes(sketch, level)
    described = header_of(sketch, rows) | {
        "members": {
            name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            | ({"type": _NUMBERS[name]} if name in _NUMBERS else {"classes": coded[name]})
            for name, data in members.items()
        }
    }
    return _archive({"magic": MAGIC, "format": FORMAT, "version": version("copula-discrepancy")} | described, members)


def _archive(header: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {_HEADER: json.dumps(header, allow_nan=False).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # without the time: equal sketches give equal files
    return buffer.getvalue()


def from_bytes(data: Any, *, label: str = "the sketch") -> DependenceSketch:
    """The sketch that `to_bytes` made these bytes of.

    Parameters
    ----------
    data : bytes
        The content of a file.
    label : str
        What errors call it.

    Raises
    ------
    InputError
        If the bytes are not a whole, undamaged and consistent sketch, or one of a newer version of the library.
    """
    try:
        content, members = _opened(data, label)
        return _sketch(Header(content), members)
    except InputError as error:  # of a size, which does not name the file, or of this module, which does
        raise error if str(error).startswith(label) else InputError(f"{label}: {error}", "file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{label} is damaged: {error!s:.150}; {_AGAIN}", "file") from None
    except MemoryError:
        raise InputError(f"{label} has more counts than fit into memory; load it on a larger machine", "file") from None


def _opened(data: Any, label: str) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """The header of an archive, and its members, whose checksums are those that the header says."""
    try:
        view = memoryview(data).cast("B")
    except TypeError:
        raise InputError(f"{label} must be bytes, got {type(data).__name__}", "file") from None
    if bytes(view[:2]) != b"PK":
        raise InputError(f"{label} is not a sketch; files of sketches are written by DependenceSketch.save", "file")
    try:
        with zipfile.ZipFile(io.BytesIO(view)) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if _HEADER not in names:
                raise InputError(f"{label} is a ZIP archive but not a sketch; it has no {_HEADER}", "file")
            # stored members are never larger than the file
            if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos):
                raise ValueError("its members are compressed in another way")
            if len({*names}) != len(names) or sum(info.file_size for info in infos) > len(view):
                raise ValueError("its members overlap")
            content = json.loads(archive.read(_HEADER), parse_constant=_refused)
            _require_format(content, label)
            if {*names} != {_HEADER, *_NUMBERS, *_CODED}:
                raise ValueError("it has other members than a sketch has")
            found = {name: memoryview(archive.read(name)) for name in (*_NUMBERS, *_CODED)}
    except _NOT_ZIP as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"{label} is damaged or cut off ({reason:.100}); {_AGAIN}", "file") from None
    described = content.get("members")
    for name, member in found.items():
        own = described.get(name) if isinstance(described, dict) else None
        if not isinstance(own, dict) or own.get("sha256") != hashlib.sha256(member).hexdigest():
            raise ValueError(f"the checksum of its {name} differs")
    return content, found


def _refused(constant: str) -> Any:
    raise ValueError(f"its header has a number {constant}")


def _require_format(content: Any, label: str) -> None:
    if not isinstance(content, dict) or content.get("magic") != MAGIC:
        raise InputError(f"{label} is a ZIP archive but not a sketch; its header says something else", "file")
    found: Any = content.get("format")
    if is_whole(found) and found > FORMAT:
        raise InputError(
            f"{label} was written by a newer version of copula-discrepancy, {content.get('version')!s:.40}, in format "
            f"{found!s:.20}; this is {version('copula-discrepancy')}, which reads format {FORMAT}: update it, or save the "
            "sketch with this version",
            "file",
        )
    if not is_whole(found) or found != FORMAT:
        raise InputError(f"{label} has the unknown format {found!r:.40}; this version reads format {FORMAT}", "file")


def _sketch(header: Header, members: Mapping[str, memoryview]) -> DependenceSketch:
    """The sketch that header and members describe; ValueError if they contradict each other."""
    bins = header.bins
    sizes = {"edges": [size - 1 if not labels else 0 for size, labels in zip(bins, header.labels, strict=True)]}
    sizes |= {"single": bins, "shares": bins, "margins": [size + 1 for size in bins]}
    arrays = {name: _numbers(members[name], _NUMBERS[name], lengths) for name, lengths in sizes.items()}
    columns = header.columns(arrays["edges"], arrays["single"], arrays["shares"])
    plan = SketchPlan(columns, **header.choices)
    n, margins = header.n, tuple(arrays["margins"])
    if any((margin < 0).any() or int(margin.sum(dtype=object)) != n for margin in margins):
        raise ValueError(f"the counts of a column are not those of its {n:,} rows")
    keys, rows = header.blocks(plan)
    # the memory of the blocks depends on the groups of bins, which are known only now
    require_size(plan.widths.tolist(), plan.coarse_widths.tolist(), len(keys))
    counts = tables_from(plan, n, margins, members["counts"], header.classes("counts"))
    blocks = {}
    if keys:
        blocks = blocks_from(plan, coarse_counts(plan, counts), keys, rows, members["blocks"], header.classes("blocks"))
    elif len(members["blocks"]):
        raise ValueError("it has blocks of rows that its header does not have")
    found = DependenceSketch(plan, n, counts, margins, blocks, header.block_rows, header.chain_rows, header.source)
    if plan.triples:
        found.triples = triples_from(plan, n, margins, members["triples"], header.classes("triples"))
        found.triples.sums = sums_from(found.triples, n, members["sums"])
    elif len(members["triples"]) or len(members["sums"]):
        raise ValueError("it has triples that its header does not have")
    return found


def _numbers(data: memoryview, kind: str, lengths: list[int]) -> list[NDArray[Any]]:
    """Arrays of these lengths from the bytes of all of them."""
    dtype = np.dtype(kind)
    whole = np.frombuffer(unpacked(data, sum(lengths) * dtype.itemsize), dtype)
    parts = np.split(whole, np.cumsum(lengths)[:-1])
    return [part.astype(dtype.newbyteorder("=")) for part in parts]
