"""Draws and a reference read, ranked and divided into batches, for comparisons of all pairs and of all triples at once."""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import independent_sides
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import Device, checked_device, named_device
from copula_discrepancy.compare.caveats import ComparedSample, sample_caveats, sides_of
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.pair_targets import PairTargets, resolve_pair_targets
from copula_discrepancy.compare.wording import called, halves
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.precision import Precision
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.data.resident import brought_home
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, comparable
from copula_discrepancy.estimate.batches import FEWEST_DRAWS, BatchedRanks
from copula_discrepancy.estimate.joint import prepared
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.standard_error import require_chain_length


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """The draws and, if there is one, the reference, with the variables that are compared.

    Attributes
    ----------
    names : tuple of str
        The variables compared.
    own, other : BatchedRanks
        Their ranks in batches; `other` is None without a reference.
    samples : (Draws, Draws or None)
        The draws and the reference, with all variables that vary.
    iid : (bool, bool)
        Whether the draws of each are independent.
    caveats, notes, stuck, left_out
        As in `Pairwise`.
    device : Device or None
        Where both are, if not here.
    """

    names: tuple[str, ...]
    own: BatchedRanks
    other: BatchedRanks | None
    samples: tuple[Draws, Draws | None]
    iid: tuple[bool, bool]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]
    device: Device | None = None

    @property
    def device_fields(self) -> dict[str, Any]:
        """The device, and its name, as results have them."""
        return named_device(self.device)

    @property
    def things(self) -> str:
        """The noun for the observations."""
        return called(self.samples[0], self.iid[0])

    @classmethod
    def read(
        cls,
        draws: Any,
        reference: Any,
        *,
        iid: bool | str,
        chains: int | str | None,
        fewest: int,
        most: int | None = None,
        device: Any = "cpu",
        precisions: tuple[Precision, Precision] | None = None,
        **selection: Any,
    ) -> "TwoSamples":
        """Read and rank both samples.

        Parameters
        ----------
        draws, reference : anything `as_draws` accepts
            The samples; the reference may be None.
        iid : bool or {"draws", "reference"}
            See `pairwise`.
        chains : int or str, optional
            See `as_draws`; a number applies to the draws only.
        fewest : int
            The number of variables that the comparison needs.
        most : int, optional
            The number of variables that it can take.
        device : str or torch.device
            Where it runs; see `pairwise`.
        precisions : two Precision, optional
            Those of what the user passed, if the samples have been read already.
        **selection : object
            Options of `as_draws`.

        Returns
        -------
        TwoSamples
            Constant and few-valued variables, and those with missing values, are left out, with a caveat.
        """
        sides = independent_sides(iid)
        place, device_notes = checked_device(device)
        precisions = precisions or (Precision.of(draws), Precision.of(reference))
        draws, reference = (
            brought_home(given, place, whose, missing=selection.get("missing"))
            for given, whose in ((draws, "draws"), (reference, "reference"))
        )
        aims = matched_samples(draws, reference, sides=sides, chains=chains, fewest=fewest, most=most, **selection)
        samples = aims.draws, aims.reference
        tables = [None if sample is None else ranked_on(sample, place) for sample in samples]
        assert tables[0] is not None
        columns, own, other, left_out = prepared(tables[0], tables[1], sides, fewest, place)
        names = tuple(aims.draws.names[k] for k in columns)
        compared = sides_of(samples, (tables[0], tables[1]), sides)
        caveats = [*aims.caveats, *sample_caveats(compared)]
        for side, batched in zip(compared, (own, other), strict=False):
            assert batched is not None
            caveats += [*_effective(side, batched, names), *_agreement(side, batched, names)]
        caveats += left_out_caveats(left_out)
        notes = [*aims.notes, *device_notes, *(in_a_row(aims.draws) if sides[0] else ())]
        told, noted = precision_remarks(precisions, tables)
        caveats += told
        notes += noted
        omitted = {**aims.left_out, **left_out}
        return cls(names, own, other, samples, sides, tuple(caveats), tuple(notes), aims.stuck, omitted, place)


def ranked_on(draws: Draws, device: Device | None) -> RankedTable:
    """Draws as ranks, computed here or on a device."""
    if device is None:
        return RankedTable.of(draws)
    from copula_discrepancy.estimate.device_table import DeviceTable  # which imports PyTorch

    with device.turn():
        return DeviceTable.of(draws, device).host


def precision_remarks(precisions: Sequence[Precision], tables: Sequence[Any]) -> tuple[list[Caveat], list[str]]:
    """Caveats and notes about samples that were given in single or half precision, from their ranks."""
    caveats: list[Caveat] = []
    notes: list[str] = []
    for precision, table, whose in zip(precisions, tables, ("draws", "reference"), strict=True):
        if isinstance(table, RankedTable):
            ties = np.where(table.holes, 0, table.ties)
            found = precision.remarks(ties, partial(_group_sizes, table), table.names, whose)
            caveats += found[0]
            notes += found[1]
    return caveats, notes


def _group_sizes(table: RankedTable, variable: int) -> NDArray[np.int64]:
    return table.columns[variable].group_sizes()


def matched_samples(
    draws: Any,
    reference: Any,
    *,
    sides: tuple[bool, bool],
    chains: int | str | None,
    fewest: int,
    most: int | None,
    **selection: Any,
) -> PairTargets:
    """Both samples with the same variables, those that vary; `sides` says whether the draws of each are independent."""
    given = draws if isinstance(draws, CountedDraws) else numeric_draws(draws, **selection, chains=chains)
    if given.n_variables < fewest:
        raise InputError(
            f"at least {fewest} variables are needed, got {given.n_variables} ({listed(given.names)}); select more of "
            "them, or check the column separator",
            "shape",
        )
    aims = resolve_pair_targets(given, reference, selection, sides)
    if aims.kind not in ("reference", "nothing"):
        raise InputError(
            f"the reference must be a sample of the same variables, got {reference!r:.60}; compare with copulas and "
            "correlation matrices by pairwise",
            "no-target",
        )
    if aims.reference is None and sides == (False, True):
        raise InputError("iid='reference' is for a reference sample, and there is none; use iid=True or False for the draws")
    if most is not None and aims.draws.n_variables > most:
        raise InputError(
            f"at most {most} variables can be compared three at a time, got {aims.draws.n_variables}; select some of them "
            "with var_names (--columns), such as those of the worst pairs",
            "shape",
        )
    for sample, independent, whose in zip((aims.draws, aims.reference), sides, ("draws", "reference"), strict=True):
        if sample is None:
            continue
        if not independent:
            require_chain_length(sample.n_draws)
        n = sample.n_chains * sample.n_draws
        if n < FEWEST_DRAWS:
            raise InputError(f"the {whose} must contain at least {FEWEST_DRAWS} draws, got {n}", "too-few-draws")
    return aims


def left_out_caveats(left_out: Mapping[str, str]) -> list[Caveat]:
    """A caveat about variables that are not compared, with the reasons, if there are any."""
    if not left_out:
        return []
    reasons = listed([f"{name} ({reason})" for name, reason in left_out.items()], BRIEF)
    return [caveat_of("variables-left-out", f"omitted: {reasons}")]


def _effective(side: ComparedSample, batched: BatchedRanks, names: tuple[str, ...]) -> list[Caveat]:
    """Too few effective draws of the variable that mixes most slowly."""
    n_eff = batched.n / batched.time
    if n_eff >= side.few:
        return []
    where = f" (in {names[int(np.argmax(batched.times))]})" if not side.iid else ""
    return [side.caveat("few-effective-draws", side.too_few(n_eff) + where)]


def _agreement(side: ComparedSample, batched: BatchedRanks, names: tuple[str, ...]) -> list[Caveat]:
    """Chains, or halves of one chain, that disagree on the ranks of a variable."""
    if not comparable(side.draws, side.iid):
        return []
    rhats = batched.rhats(side.draws.n_chains)
    limit = max(RHAT_LIMIT, _by_chance(2 * side.draws.n_chains, side.draws.n_draws // 2, 2 * len(names)))
    apart = np.flatnonzero(rhats > limit)
    if not apart.size:
        return []
    worst = max(apart.tolist(), key=rhats.tolist().__getitem__)
    parts = "the chains" if side.draws.n_chains > 1 else halves(side.things)
    where = (
        f"in {names[worst]}" if apart.size == 1 else f"in {apart.size:,} of {len(names):,} variables, worst in {names[worst]}"
    )
    sentence = f"R-hat of ranks is {rhats[worst]:.3f}, above {limit:.4g}: {parts} disagree ({where})"
    return [side.caveat("chains-disagree", sentence)]


def _by_chance(parts: int, draws: int, tests: int) -> float:
    """The largest of many split R-hats that independent draws exceed in 5% of samples: short chains exceed 1.01 by chance."""
    largest = float(chdtri(parts - 1.0, 0.05 / tests)) / (parts - 1.0)
    return math.sqrt(1.0 + (largest - 1.0) / max(draws, 1))


def adding(tick: Callable[[int], None]) -> Callable[[int], None]:
    """A callback that takes how much was done since the last call, in any thread, from one that takes how much is done."""
    lock, done = threading.Lock(), 0

    def add(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            tick(done)

    return add
