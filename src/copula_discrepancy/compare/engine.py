"""The choice between ranking all rows in memory and counting them in bins, and the samples that were counted."""

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import AUTO
from copula_discrepancy.compare.correlations import square_values
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.pair_targets import is_pair_mapping
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.matching import excluded_if_there
from copula_discrepancy.data.naming import errors_about
from copula_discrepancy.data.readers.files import is_zarr
from copula_discrepancy.data.readers.labelled import group_of
from copula_discrepancy.data.readers.table import kind_fields
from copula_discrepancy.data.streams.blocks import joined, length_of
from copula_discrepancy.data.streams.pilot import head_and_rest
from copula_discrepancy.data.streams.source import Source
from copula_discrepancy.estimate.scanning import (
    UNORDERED,
    ScanOptions,
    files_as_chains,
    open_any,
    sketch_caveats,
    sketch_draws,
    sketch_source,
)
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.families import Copula

ENGINES = ("auto", "exact", "counted")
SUFFIX = ".sketch"
# Rows from which counting is faster than sorting every pair. Its numbers differ from exact ones by a few hundredths of a
# standard error, at any number of rows.
MANY_ROWS = 200_000
_TOO_MANY_ROWS = 2_000_000  # of a file, from which on it is not read into memory even if it fits
# Bytes that ranks, influence values and copies of a sample take in memory, over those of its values.
_TIMES = 8.0
_COMPRESSED = 4.0  # times smaller than in memory, at most, that draws of a sampler are in a store
_LITTLE = 0.14  # of a standard error: an error of the grid that makes the standard error larger by a hundredth


class Counted(NamedTuple):
    """Both samples of a comparison, counted; `iid` says for each whether its rows are independent.

    With `in_memory`, they are short streams, which were read instead, and are not counted.
    """

    draws: Any
    target: Any
    iid: tuple[bool, bool]
    caveats: tuple[Caveat, ...]
    in_memory: bool = False
    notes: tuple[str, ...] = ()


class _Opened(NamedTuple):
    """A sample: the source, if it is read in pieces; whether `given` is what a stream held; and whether rows have no order."""

    given: Any
    source: Source | None = None
    read: bool = False
    unordered: bool = False


def counted_samples(
    draws: Any,
    target: Any,
    *,
    engine: str,
    iid: tuple[bool, bool],
    options: ScanOptions,
    chains: int | str | None,
    group: str,
) -> Counted | None:
    """Both samples counted, if one of them is a sketch, does not fit into memory, or if that was asked for; otherwise None."""
    one_of(engine, "engine", ENGINES)
    draws, target = (_loaded(given) for given in (draws, target))
    sketches = [isinstance(given, DependenceSketch) for given in (draws, target)]
    if engine == "exact":
        if any(sketches):
            raise InputError("engine='exact' ranks rows, and a sketch has none; use engine='auto'")
        return None
    is_sample = not _is_known(target)
    own = _opened(draws, group, options.memory)
    with errors_about("reference"):
        other = _opened(target, group_of(target, group), options.memory) if is_sample else _Opened(target)
    wanted = engine == "counted" or any(sketches)
    if not wanted and not any(
        sample.source is not None and _is_large(sample.source, options.memory) for sample in (own, other)
    ):
        return _in_memory(own, other, iid)
    if options.selection.get("coords"):
        raise InputError("coords cannot be used with rows that are counted; select variables with var_names, or engine='exact'")
    caveats: list[Caveat] = []
    found, own_iid = _counted(own, iid[0], options, chains, caveats, "draws")
    if not is_sample:
        return Counted(found, target, (own_iid, iid[1]), tuple(caveats))
    with errors_about("reference"):
        beside = replace(options, selection=excluded_if_there(options.selection))
        reference, other_iid = _counted(other, iid[1], beside, None, caveats, "reference")
    return Counted(found, reference, (own_iid, other_iid), tuple(caveats))


def _in_memory(own: "_Opened", other: "_Opened", iid: tuple[bool, bool]) -> Counted | None:
    """Short samples, which are read into memory: what a stream held, and which rows have no order; None if there is no news."""
    if not any(sample.read or sample.unordered for sample in (own, other)):
        return None
    alone = iid[0] or own.unordered, iid[1] or other.unordered
    whose = [name for name, before, now in zip(("", "reference: "), iid, alone, strict=True) if now and not before]
    return Counted(own.given, other.given, alone, (), in_memory=True, notes=tuple(name + UNORDERED for name in whose))


def _loaded(given: Any) -> Any:
    """The sketch in a file that ends in .sketch, or the object itself."""
    named = isinstance(given, str | os.PathLike) and os.fsdecode(given).endswith(SUFFIX)
    return DependenceSketch.load(given) if named else given


def _in_chains(source: Source | None, given: Any, iid: bool) -> Source | None:
    """Files of a list, or of a pattern, as chains unless rows are independent, as in `as_draws`; a folder is one table."""
    several = isinstance(given, list | tuple) or (isinstance(given, str) and any(sign in given for sign in "*?["))
    return files_as_chains(source) if source is not None and several and not iid else source


def needs_counting(given: Any, group: str, memory: float) -> bool:
    """Whether a sample does not fit into so much memory, so that it is counted while it is read."""
    source = _opened(given, group, memory).source
    return source is not None and _is_large(source, memory)


def worth_counting(draws: Draws, reference: Draws | None, iid: tuple[bool, bool]) -> bool:
    """Whether counting independent rows in memory is faster than sorting every pair, and nothing stands against it."""
    samples = [draws] if reference is None else [draws, reference]
    rows = [sample.n_chains * sample.n_draws for sample in samples]
    plain = not any(sample.ranked or isinstance(sample, CountedDraws) for sample in samples)
    return plain and all(iid[: len(samples)]) and max(rows) >= MANY_ROWS


def counted_in_memory(draws: Draws, options: ScanOptions) -> CountedDraws:
    """Independent rows that are in memory, counted; the rows are kept."""
    found = CountedDraws.of(sketch_draws(draws, iid=True, options=options))
    about = kind_fields(
        [draws.kind(k) for k in range(draws.n_variables)], [draws.labels(k) for k in range(draws.n_variables)], ()
    )
    return replace(found, notes=draws.notes, chained=draws.chained, kept=draws, **about)


def is_blurred(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have a standard error that the bins make larger by more than a hundredth."""
    least = 1.0 / (1.0 + _LITTLE**2)
    with np.errstate(invalid="ignore"):
        return np.asarray((rows["n_eff"] < least * rows["n"]) | (rows["n_eff_target"] < least * rows["n_target"]))


def _is_known(target: Any) -> bool:
    """Whether a target is none or made of copulas, and not a sample."""
    if target is None or isinstance(target, Copula | type) or (isinstance(target, Mapping) and is_pair_mapping(target)):
        return True
    # frames of Dask have columns and an index too, but no known length
    matrix = isinstance(target, np.ndarray) or (type(target).__module__.startswith("pandas.") and hasattr(target, "columns"))
    shape: tuple[int, ...] = np.shape(target) if matrix else ()
    if len(shape) == 2 and shape[0] == shape[1]:
        values = np.asarray(square_values(target)[0])
        return values.dtype.kind in "fiu" and bool(np.allclose(np.diag(values), 1.0))
    return False


def _opened(given: Any, group: str, memory: float) -> _Opened:
    """An object and, if it is one that is read in pieces, the source; a short stream is read.

    Of a source that does not tell its length, as many rows are read as fit into memory in any case.
    """
    if given is None or isinstance(given, Draws | DependenceSketch):
        return _Opened(given)
    if _is_small_store(given, memory) and find_spec("dask") is None:  # which reads stores in pieces
        return _Opened(given)
    source = open_any(given, group=group)
    if source is None or source.n_rows is not None or source.engine in ("ray", "spark"):  # these count where the rows are
        return _Opened(given, source)
    if source.size is not None and source.size * _TIMES <= memory and source.size < 8 * _TOO_MANY_ROWS:
        return _Opened(given)  # a text file of a few megabytes
    head, rest = head_and_rest(source, source.names, MANY_ROWS)
    if sum(map(length_of, head)) >= MANY_ROWS:
        return _Opened(given, rest)
    if head and (source.once or source.kind.startswith("Polars")):  # as_draws reads no stream again, and no LazyFrame
        return _Opened(joined(head), read=True, unordered=not source.ordered)
    return _Opened(given, unordered=not source.ordered)


def _is_small_store(given: Any, memory: float) -> bool:
    """Whether a path is that of a Zarr store whose draws, compressed in it, fit into memory by far."""
    if not isinstance(given, str | os.PathLike) or not is_zarr(os.fsdecode(given)):
        return False
    files = (os.path.join(folder, name) for folder, _, names in os.walk(os.fsdecode(given)) for name in names)
    size = sum(map(os.path.getsize, files))
    return size * _COMPRESSED * _TIMES <= memory


def _is_large(source: Source, memory: float) -> bool:
    """Whether the rows of a source take more memory than allowed, or are so many that sorting every pair takes too long."""
    if source.n_rows is None:
        return True  # it has at least as many rows as were read to find out
    return (source.size or 0) * _TIMES > memory or source.n_rows >= _TOO_MANY_ROWS


def _counted(
    sample: _Opened,
    iid: bool,
    options: ScanOptions,
    chains: int | str | None,
    caveats: list[Caveat],
    whose: str,
) -> tuple[CountedDraws, bool]:
    """One sample, counted, and whether its rows are independent; what to keep in mind about it is added to `caveats`."""
    given, source = sample.given, _in_chains(sample.source, sample.given, iid)
    if isinstance(given, CountedDraws):
        return given, iid or not given.sketch.plan_.serial
    notes = (UNORDERED,) if sample.unordered and not iid else ()
    iid = iid or sample.unordered
    memory = None
    if isinstance(given, DependenceSketch):
        sketch = given
    elif source is None:
        sketch = sketch_draws(as_draws(given, **options.selection, chains=chains), iid=iid, options=options)
    else:
        named = replace(options, checkpoint=None if options.checkpoint is None else f"{options.checkpoint}/{whose}")
        sketch, _ = sketch_source(source, iid=iid, options=named, chains=chains)
        memory = options.memory
    sketch.finish()  # raises if there are too few rows
    independent = iid or not sketch.plan_.serial
    prefix = "reference: " if whose == "reference" else ""
    caveats += [
        Caveat(one.code, prefix + one.sentence, one.advice)
        for one in sketch_caveats(sketch)
        if one.code != "short-blocks" or not independent
    ]
    counted = CountedDraws.of(sketch, (*notes, _note(sketch, memory)))
    return (_selected(counted, options.selection) if isinstance(given, DependenceSketch) else counted), independent


def _selected(draws: CountedDraws, selection: Mapping[str, Any]) -> CountedDraws:
    """The columns of a sketch that were asked for; its kinds are fixed."""
    if selection.get("kinds"):
        raise InputError("the kinds of a sketch's columns were fixed when it was planned; pass kinds to DependenceSketch.plan")
    return draws.chosen_by(selection)


def _note(sketch: DependenceSketch, memory: float | None) -> str:
    """How a sample was read, for people."""
    read = "" if sketch.source in ("memory", "blocks") else f" from {sketch.source}"
    bound = "" if memory is None else f" in at most {memory / 1e9:.3g} GB of memory"
    return (
        f"{sketch.n:,} rows were counted{read} in up to {sketch.resolution} bins of each variable{bound}; standard errors "
        "include what the bins may hide"
    )


def processor_for_counted(device: object) -> tuple[None, tuple[str, ...]]:
    """The processor, and a note that "auto" uses it for rows that are counted; any other device is an error."""
    if device == AUTO:
        return None, ("device='auto' used the processor: rows are counted, and counts are compared there",)
    raise InputError(
        f"rows that are counted are compared on the processor, got device={device!r}; omit it, or use engine='exact' for rows "
        "that fit into memory",
        "argument",
    )
