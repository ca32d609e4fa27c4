"""Replications of an experiment, distributed over joblib's workers in parts, each saved as soon as it is finished."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from copula_discrepancy._core.checkpoint import Store
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import outcomes, silenced
from copula_discrepancy.studies.paper.store import Row, read_rows

# Replications per part: parts are short enough to lose little if interrupted, and long enough for little overhead.
BLOCK = 10
_RESUME = "finished parts are saved; repeat the call to resume, with fewer workers if necessary"


def _any_number(value: float) -> int:
    return sys.maxsize


@dataclass(frozen=True)
class Study:
    """One experiment: the quantity that varies, and the measurements of one replication.

    Attributes
    ----------
    name : str
        Name on the command line.
    variable : str
        The quantity that varies: "n" or "step_size".
    values : sequence of float
        Its values.
    measure : callable
        (value, seed, context) -> numbers of one replication; a function of a module, so that it can be pickled.
    cost : callable
        value -> approximate milliseconds of one replication, for the remaining time.
    context : mapping
        Values that all replications share, such as the tau of a reference chain.
    parallel : bool
        False if times are measured, so that nothing else runs at the same time.
    most : callable
        value -> largest number of replications.
    """

    name: str
    variable: str
    values: Sequence[float]
    measure: Callable[[float, "Seed", Mapping[str, float]], Row]
    cost: Callable[[float], float]
    context: Mapping[str, float] = field(default_factory=dict)
    parallel: bool = True
    most: Callable[[float], int] = _any_number


@dataclass(frozen=True)
class Seed:
    """The source of one replication's random numbers, which depend neither on the worker nor on the order."""

    seed: int
    study: str
    value: float
    replication: int

    def generator(self, purpose: str) -> np.random.Generator:
        """A separate stream for each purpose within the replication."""
        words = (int.from_bytes(text.encode(), "big") for text in (self.study, purpose))
        key = (*words, int(np.float64(self.value).view(np.uint64)), self.replication)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True)
class Part:
    """A block of replications at one value."""

    study: Study
    value: float
    first: int
    stop: int

    @property
    def name(self) -> str:
        """Path of the part's file inside the store."""
        return f"{self.study.name}/{self.study.variable}={self.value:.10g}/{self.first:05d}-{self.stop - 1:05d}"

    @property
    def cost(self) -> float:
        """Approximate milliseconds."""
        return (self.stop - self.first) * self.study.cost(self.value)

    def saved(self, store: Store) -> list[Row] | None:
        """The rows in a store, if they are those of this part: its value, each of its replications in order, all numbers."""
        rows = read_rows(store, self.name)
        if rows is None or not all(isinstance(value, int | float) for row in rows for value in row.values()):
            return None
        expected = [(self.value, replication) for replication in range(self.first, self.stop)]
        return rows if [(row.get(self.study.variable), row.get("replication")) for row in rows] == expected else None

    def computed(self, seed: int) -> list[Row]:
        """The rows, measured one replication after another."""
        sources = (Seed(seed, self.study.name, self.value, replication) for replication in range(self.first, self.stop))
        rows = ((source.replication, self.study.measure(self.value, source, self.study.context)) for source in sources)
        return [{self.study.variable: self.value, "replication": replication} | row for replication, row in rows]


def parts_of(study: Study, replications: int) -> list[Part]:
    """All parts of a study, in order."""
    counts = [(float(value), min(replications, study.most(value))) for value in study.values]
    return [Part(study, n, k, min(k + BLOCK, count)) for n, count in counts for k in range(0, count, BLOCK)]


def run(
    study: Study, replications: int, seed: int, store: Store, *, n_jobs: int | None, tick: Callable[[float], None]
) -> list[Row]:
    """All rows of a study, in order; `tick` is called with the cost of the parts finished so far."""
    parts = parts_of(study, replications)
    rows = {part.name: part.saved(store) for part in parts}
    # the longest first, so that short ones fill the gaps at the end
    todo = sorted((part for part in parts if rows[part.name] is None), key=lambda part: -part.cost)
    done = sum(part.cost for part in parts if rows[part.name] is not None)
    tick(done)
    for part, computed in _results(todo, seed, n_jobs):
        store.write(part.name, computed)
        rows[part.name] = computed
        done += part.cost
        tick(done)
    tick(sum(part.cost for part in parts))  # sums in another order differ by rounding, and the bar would not finish
    return [row for part in parts for row in rows[part.name] or []]


def _results(parts: Sequence[Part], seed: int, n_jobs: int | None) -> Iterator[tuple[Part, list[Row]]]:
    """Parts as they finish, from the backend of `joblib.parallel_config`; timings are measured in this process only."""
    with silenced(partial(_compute, seed)) as compute:
        try:
            if not parts or not parts[0].study.parallel:
                yield from map(compute, parts)  # some backends, such as Dask's, ignore n_jobs=1
            else:
                yield from outcomes(compute, parts, n_jobs, _RESUME, batch_size=1, pre_dispatch="3*n_jobs")
        except MemoryError as error:
            raise InputError(f"out of memory ({error!s:.120}); {_RESUME}", "memory") from error


def _compute(seed: int, part: Part) -> tuple[Part, list[Row]]:
    return part, part.computed(seed)
