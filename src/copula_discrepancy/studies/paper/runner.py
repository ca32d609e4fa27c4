"""Replications of an experiment, dealt out to joblib's workers part by part, each kept as soon as it is done."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import Silence, outcomes, silenced
from copula_discrepancy.studies.paper.progress import Tick
from copula_discrepancy.studies.paper.store import Row, Store

# Replications per part: parts are short enough to lose little when stopped, and long enough not to be mostly overhead.
BLOCK = 10
_GO_ON = "what is finished is kept: the same call goes on from there, with fewer workers if need be"


def _any_number(value: float) -> int:
    return sys.maxsize


@dataclass(frozen=True)
class Study:
    """One experiment: what to vary, and what one replication measures.

    Attributes
    ----------
    name : str
        As on the command line.
    variable : str
        What varies: "n" or "step_size".
    values : sequence of float
        Its values.
    measure : callable
        (value, seed, context) -> numbers of one replication; a module's function, so that it reaches any worker.
    cost : callable
        value -> rough milliseconds of one replication, for the time left.
    context : mapping
        What all replications share, such as the tau of a reference chain.
    parallel : bool
        False where times are measured: nothing else may run beside it.
    most : callable
        value -> most replications of it.
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
    """Where one replication's randomness comes from: the same numbers whichever worker does it, in whatever order."""

    seed: int
    study: str
    value: float
    replication: int

    def generator(self, purpose: str) -> np.random.Generator:
        """A stream of its own for each purpose within the replication."""
        words = (int.from_bytes(text.encode(), "big") for text in (self.study, purpose))
        key = (*words, int(np.float64(self.value).view(np.uint64)), self.replication)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True)
class Part:
    """Some replications at one value."""

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
        """Rough milliseconds."""
        return (self.stop - self.first) * self.study.cost(self.value)

    def is_whole(self, rows: Sequence[Row]) -> bool:
        """Whether rows are those of this part: its value, each of its replications once and in order, all numbers."""
        expected = [(self.value, replication) for replication in range(self.first, self.stop)]
        numbers = all(isinstance(value, int | float) for row in rows for value in row.values())
        return numbers and [(row.get(self.study.variable), row.get("replication")) for row in rows] == expected


def parts_of(study: Study, replications: int) -> list[Part]:
    """All parts of a study, in order."""
    return [
        Part(study, float(value), first, min(first + BLOCK, count))
        for value in study.values
        for count in [min(replications, study.most(value))]
        for first in range(0, count, BLOCK)
    ]


def run(study: Study, replications: int, seed: int, store: Store, *, n_jobs: int | None, tick: Tick) -> list[Row]:
    """All rows of a study, in order; `tick` hears of the cost done so far."""
    parts = parts_of(study, replications)
    found = {part.name: store.read(part.name, part.is_whole) for part in parts}
    # the longest first: short ones fill the gaps at the end
    todo = sorted((part for part in parts if found[part.name] is None), key=lambda part: -part.cost)
    done = sum(part.cost for part in parts if found[part.name] is not None)
    tick(done)
    for part, rows in _results(todo, seed, n_jobs):
        store.write(part.name, rows)
        found[part.name] = rows
        done += part.cost
        tick(done)
    tick(sum(part.cost for part in parts))  # sums in another order differ by rounding, and a bar would stay open
    return [row for part in parts for row in found[part.name] or []]


def _results(parts: Sequence[Part], seed: int, n_jobs: int | None) -> Iterator[tuple[Part, list[Row]]]:
    """Finished parts as they come, from whatever backend `joblib.parallel_config` names; timings from this process alone."""
    with silenced() as silence:
        compute = partial(_compute, seed=seed, silence=silence)
        try:
            if not parts or not parts[0].study.parallel:
                # some backends, as Dask's, do not heed n_jobs=1
                yield from map(compute, parts)
            else:
                yield from outcomes(compute, parts, n_jobs, _GO_ON, batch_size=1, pre_dispatch="3*n_jobs")
        except MemoryError as error:
            raise InputError(f"memory ran out ({error!s:.120}); {_GO_ON}") from error


def _compute(part: Part, seed: int, silence: Silence) -> tuple[Part, list[Row]]:
    """What a worker does."""
    silence()
    rows = []
    for replication in range(part.first, part.stop):
        source = Seed(seed, part.study.name, part.value, replication)
        numbers = part.study.measure(part.value, source, part.study.context)
        rows.append({part.study.variable: part.value, "replication": replication, **numbers})
    return part, rows
