"""Comparison of two samples on the edges of a vine that is fitted to the reference."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import independent_sides, is_whole, one_of
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.compare.caveats import Compared, comparison_caveats, sides_of
from copula_discrepancy.compare.comparison import PairComparison
from copula_discrepancy.compare.jobs import compute, finished, out_of_memory
from copula_discrepancy.compare.margins import compare_margins
from copula_discrepancy.compare.pair_targets import PairTargets, resolve_pair_targets
from copula_discrepancy.compare.rows import empty_rows
from copula_discrepancy.compare.vine_result import Edge, VineGaps, edge_label
from copula_discrepancy.compare.wording import counted
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.matching import is_bare_word
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.agreement import comparable
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.coded_samples import CodedSamples
from copula_discrepancy.estimate.fit import METHODS
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.form import checked_order
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE, tau_from_ranks
from copula_discrepancy.estimate.screening import gaussian, reaches
from copula_discrepancy.estimate.standard_error import require_chain_length
from copula_discrepancy.estimate.tails import checked_tail
from copula_discrepancy.estimate.uncertainty import open_probability
from copula_discrepancy.families import Copula, StudentT, resolve_family

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
_FAMILIES = ("indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe")
_FEWEST = 11  # pyvinecopulib treats ten draws or fewer as independent


@enough_memory
def vine(
    draws: Any,
    reference: Any,
    *,
    truncate: int | None = None,
    method: str = "mle",
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str = "raise",
    tail: float = TAIL_SHARE,
    order: int = ORDER,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> VineGaps:
    """Compare draws with a reference sample on every edge of a vine, and rank the edges, worst first.

    With pyvinecopulib, a regular vine is fitted to the reference: a tree of pairs, then trees of pairs conditioned on one more
    variable each (Bedford and Cooke, 2002; Dissmann et al., 2013). The ranks of both samples are propagated through the same
    vine. Each edge then has the results of a pair in `pairwise`: level, shape and total gap with standard errors that hold on
    Markov chains, tail gaps, CKL, effective draws and R-hat, from separate fits to both samples. Edges of the first tree are
    pairs; the others show what pairs cannot: whether variables depend on each other as they should given other variables.

    Parameters
    ----------
    draws, reference : anything `as_draws` accepts, with two variables or more
        Two independent samples of the same variables (matched by name). Constant variables are omitted, with a warning.
    truncate : int, optional
        Number of trees to fit and compare, at most d - 1, the default: a vine of d variables then has d (d - 1) / 2 edges.
    method : {"mle", "moment"}
        "moment" uses Kendall's tau only; shape is not tested.
    iid : bool or {"draws", "reference"}
        Treat draws and reference as independent instead of as Markov chains, or only one of the two.
    confidence : float
        Adjusted p-values below 1 - confidence count as a gap.
    adjust : {"bh", "by", "holm", "bonferroni", "none"}
        How p-values of level, shape, form and tails on all edges are adjusted; see `adjust_pvalues`.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains.
    missing : {"raise", "listwise"}
        Handling of NaN: an error, or rows with NaN in any variable are omitted, because a vine needs complete rows.
    tail : float
        The fraction of each variable that counts as its tail.
    order : int
        The order of form, from 1 to 8.
    n_jobs : int, optional
        Threads; -1, the default, is one per core.
    progress : bool, optional
        Show a progress bar; by default on a terminal, after two seconds.

    Returns
    -------
    VineGaps
        The ranked edges; print it for a summary in words, or use `to_dataframe`, `trees`, ``result["a", "b"]``.

    Raises
    ------
    InputError
        If pyvinecopulib is not installed, for samples that `as_draws` rejects (NaN and infinite values are counted and located)
        or that have different variables, fewer than two varying variables, fewer than 11 draws, or an invalid number of trees.

    See Also
    --------
    pairwise : Every pair, unconditionally.

    Notes
    -----
    Structure and families (independence, Gaussian, Student t, Clayton, Gumbel, Frank, Joe and rotations, by AIC) are chosen on
    the reference. An edge is compared using the vine's family, or using the Gaussian family if the vine's has no member near
    one of the two taus, or if dependence is weak (|tau| below 0.1) and the family has one sign only.

    In tree 1 the numbers are those of `pairwise` with the edge's family. From tree 2 on, variables are conditional ranks, and
    both the ranks and the h-functions they are computed from are estimated. If the conditional copula does not depend on the
    values of the conditioning variables, as vines assume, and the earlier trees fit, this has no first-order effect on any gap:
    it shifts a conditional rank by a function of itself and of the conditioning variables, which carry no further information
    about the other variable. Standard errors therefore ignore it. Otherwise the effect of estimated h-functions still cancels
    between the samples, which share them, but the effect of ranks does not.

    Measured with four variables and equal distributions, rejections at 5% by level / shape in trees 1, 2, 3: 1000 independent
    draws each, 400 replications, 5.5 / 4.5, 2.9 / 5.1, 4.0 / 5.0%; 250 draws, 300 replications, 4.3 / 4.2, 5.5 / 6.2, 5.0 /
    5.3%; 4 autoregressive chains of 500 draws (coefficient 0.7), 300 replications, 6.7 / 5.0, 6.2 / 4.0, 7.0 / 3.7%; 1000 draws
    whose conditional dependence changes its sign with the conditioning variable, 300 replications, 4.3 / 4.6, 3.7 / 5.0, 6.7 /
    6.0%. A conditional tau of 0.09 instead of 0.31 in tree 2 alone, or 0.13 instead of 0.30 in tree 3, was detected by level in
    all of 54 and 56 vines that had that edge. The power of shape depends on the edge's family: 19% for Clayton if Frank is
    right.

    A gap in an early tree changes the conditioning, and may reappear, smaller, on edges above it; `EdgeGap.echo` marks these,
    and the printed result names the edges to start with. A dependence that changes with the conditioning variables is averaged
    over them in both samples. Ties share mid-ranks; conditional ranks of variables with few values are not uniform, so gaps
    from tree 2 on must then be interpreted with care.

    References
    ----------
    Bedford, T. and Cooke, R. M. (2002). Vines: a new graphical model for dependent random variables. Annals of Statistics 30,
    1031-1068.

    Dissmann, J., Brechmann, E. C., Czado, C. and Kurowicka, D. (2013). Selecting and estimating regular vine copulae and
    application to financial returns. Computational Statistics and Data Analysis 59, 52-69.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> def common_cause(correlation):
    ...     noise = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 1000)
    ...     cause = rng.standard_normal(1000)
    ...     return {"a": cause + 0.5 * noise[:, 0], "b": cause + 0.5 * noise[:, 1], "cause": cause}
    >>> result = cd.vine(common_cause(0.0), common_cause(-0.6), iid=True)
    >>> result.worst.label, result.worst.verdict, result.n_flagged
    ('a ~ b | cause', 'too weak', 1)
    """
    backend = _pyvinecopulib()
    one_of(method, "method", METHODS)
    one_of(adjust, "adjust", ADJUSTMENTS)
    sides = independent_sides(iid)
    share = open_probability(confidence, "confidence")
    jobs, tail_level, degree = checked_jobs(n_jobs), checked_tail(tail), checked_order(order)
    one_of(missing, "missing", ("raise", "listwise", "drop"))
    selection: dict[str, Any] = {
        "var_names": var_names, "filter_vars": filter_vars, "group": group, "coords": coords, "missing": missing,
        "exclude": exclude,
    }  # fmt: skip
    given = numeric_draws(draws, **selection, chains=chains)
    aims = _aims(given, reference, selection, sides)
    assert aims.reference is not None
    own, other = (_ranked(sample, alone) for sample, alone in zip((aims.draws, aims.reference), sides, strict=True))
    theirs = _pseudo_observations(other)
    model = _fitted(backend, theirs, _levels(truncate, aims.draws.n_variables), jobs)
    places = _places(model)
    compared = comparable(aims.draws, sides[0]), comparable(aims.reference, sides[1])
    rows: list[NDArray[Any]] = []
    with progress_bar(progress, "edges", sum(map(len, places))) as tick:
        levels = zip(places, climb(model, _pseudo_observations(own)), climb(model, theirs), strict=True)
        for level, (edges, here, there) in enumerate(levels):
            tables = _edge_table(aims.draws, edges, here), _edge_table(aims.reference, edges, there)
            templates = [template_of(model.get_pair_copula(level, k), turned=edge.turned) for k, edge in enumerate(edges)]
            # conditional pseudo-observations, from the second tree on, have no levels
            coded = CodedSamples.of(aims.draws, aims.reference) if level == 0 else None
            both = [k for edge in edges for k in (edge.first, edge.second)]
            columns = None if coded is None else coded.at(both)
            tree = _Tree(*tables, templates, method, sides, compared, tail_level, degree, columns)
            found = tree.compared_edges(jobs, tick, sum(map(len, rows)))
            found["first"], found["second"] = [edge.first for edge in edges], [edge.second for edge in edges]
            rows.append(found)
    edges_by_pair = {(edge.first, edge.second): edge for edges in places for edge in edges}
    table = np.concatenate(rows)

    def label(row: Any) -> str:
        edge, names = edges_by_pair[int(row["first"]), int(row["second"])], aims.draws.names
        return edge_label((names[edge.first], names[edge.second]), [names[k] for k in edge.given])

    caveats = comparison_caveats(
        Compared(table, VineGaps.unit, label, method, {}),
        sides_of((aims.draws, aims.reference), (own, other), sides),
    )
    lost = [caveat_of("memory", sentence) for sentence in out_of_memory(table, label, VineGaps.unit)]
    still = table[finished(table) & np.isnan(table["tau"])]
    if still.size:
        which = f"{counted(still.size, VineGaps.unit)} ({listed([label(row) for row in still], BRIEF)})"
        sentence = f"nothing varies in {which}: the dependence in earlier trees is too strong"
        caveats += (caveat_of("no-variation", sentence),)
    result = VineGaps.of(
        table,
        names=aims.draws.names,
        kind="reference",
        method=method,
        family=None,
        iid=iid if isinstance(iid, str) else sides[0],
        confidence=share,
        adjust=adjust,
        weights=None,
        samples=(aims.draws, aims.reference),
        targets=None,
        template=None,
        tail=tail_level,
        order=degree,
        exact=False,
        stuck=aims.stuck,
        left_out=aims.left_out,
        notes=aims.notes,
        caveats=(*aims.caveats, *lost, *caveats),
        version=library_version(),
        margins=None if aims.margins is None else compare_margins(aims.margins, sides, confidence=share, adjust=adjust),
        edges=edges_by_pair,
        model=model,
    )
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


def climb(model: Any, u: NDArray[np.float64]) -> Iterator[list[Pair]]:
    """The two (conditional) pseudo-observations of every edge, tree by tree, propagated by the vine's own h-functions.

    The recursion of vinecopulib's density (Dissmann et al., 2013, algorithm 2.1, in vinecopulib's triangular array): a pair in
    tree t consists of h-functions of pairs in tree t - 1, conditional distribution functions of one variable given the other.
    """
    structure, order = model.structure, model.order
    d = len(order)
    given_second: list[NDArray[np.float64]] = [u[:, k - 1] for k in order]
    given_first = list(given_second)  # overwritten before it is read
    for tree in range(model.trunc_lvl):
        pairs = []
        for k in range(d - 1 - tree):
            partner = structure.min_array(tree, k)
            straight = partner == structure.struct_array(tree, k, True)
            pairs.append((given_second[k], (given_second if straight else given_first)[partner - 1]))
        yield pairs
        if tree + 1 == model.trunc_lvl:
            return
        for k, pair in enumerate(pairs):
            copula, both = model.get_pair_copula(tree, k), np.asfortranarray(np.column_stack(pair))
            if structure.needed_hfunc1(tree, k):
                given_first[k] = copula.hfunc1(both)
            if structure.needed_hfunc2(tree, k):
                given_second[k] = copula.hfunc2(both)


@dataclass(frozen=True, eq=False)
class _Tree:
    """The edges of one tree in both samples, columns 2k and 2k + 1 for edge k, each compared using its own family."""

    draws: RankedTable
    reference: RankedTable
    templates: Sequence[Copula]
    method: str
    iid: tuple[bool, bool]
    compared: tuple[bool, bool]
    tail: float
    order: int
    coded: CodedSamples | None = None

    def compared_edges(self, n_jobs: int | None, tick: Callable[[int], None], done: int) -> NDArray[Any]:
        """One row per edge; `tick` is called with the number of finished edges, `done` of them in lower trees."""
        columns = [(2 * k, 2 * k + 1) for k in range(len(self.templates))]
        advice = "no edges were saved; repeat the call with fewer workers, or with threads"
        return compute(self, columns, n_jobs, lambda count: tick(done + count), advice, unit=VineGaps.unit)

    def rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Rows of the edges with these columns."""
        return np.concatenate([self._row(i, j) for i, j in pairs])

    def _row(self, i: int, j: int) -> NDArray[Any]:
        taus = []
        for table in (self.draws, self.reference):
            if not (table.columns[i].varies and table.columns[j].varies):
                row = empty_rows(1)  # the dependence below is so strong that h-functions round to 0 and 1
                row["n"], row["n_target"] = self.draws.n, self.reference.n
                return row
            taus.append(tau_from_ranks(table.columns[i], table.columns[j]))
        template = self.templates[i // 2]
        row = self._through(template if reaches(template, np.array(taus)[:, None])[0] else gaussian(), i, j)
        if self.method == "mle" and np.isnan(row["shape_pvalue"][0]) and row["family"][0] != gaussian().name:
            return self._through(gaussian(), i, j)  # a fit at a bound has no standard error
        return row

    def _through(self, template: Copula, i: int, j: int) -> NDArray[Any]:
        comparison = PairComparison(
            self.draws, self.reference, {}, template, False, self.method, self.iid, self.compared, self.tail,
            self.order, coded=self.coded,
        )  # fmt: skip
        return comparison.rows([(i, j)])


def _pyvinecopulib() -> Any:
    try:
        return import_module("pyvinecopulib")
    except ImportError as error:
        raise InputError('vine() needs pyvinecopulib; pip install "copula-discrepancy[vine]"', "dependency") from error


def _aims(draws: Draws, reference: Any, selection: Mapping[str, Any], iid: tuple[bool, bool]) -> PairTargets:
    """Draws and reference with the same varying variables."""
    if draws.n_variables < 2:
        raise InputError(
            f"a vine needs at least two variables, got {draws.n_variables} ({draws.names[0]}); select more of them",
            "shape",
        )
    sample = not (reference is None or isinstance(reference, Copula | type | int | float | complex) or is_bare_word(reference))
    aims = resolve_pair_targets(draws, reference, selection, iid) if sample else None
    if aims is None or aims.reference is None:
        raise InputError(
            f"reference must be a sample to fit a vine to, got {type(reference).__name__} "
            f"{' '.join(repr(reference).split()):.60}; for other targets see pairwise()",
            "no-target",
        )
    return aims


def _levels(truncate: Any, d: int) -> int:
    """The number of trees to fit."""
    if truncate is None:
        return d - 1
    if not is_whole(truncate) or not 1 <= truncate <= d - 1:
        raise InputError(f"truncate must be an integer number of trees from 1 to {d - 1} for {d} variables, got {truncate!r}")
    return int(truncate)


def _ranked(sample: Draws, independent: bool) -> RankedTable:
    if not independent:
        require_chain_length(sample.n_draws)
    if sample.n_chains * sample.n_draws < _FEWEST:
        raise InputError(
            f"a vine needs at least {_FEWEST} draws in both samples, got {sample.n_chains * sample.n_draws}", "too-few-draws"
        )
    return RankedTable.of(sample)


def _pseudo_observations(table: RankedTable) -> NDArray[np.float64]:
    """(draw, variable), chains one after another."""
    columns = [column.doubled_mid_ranks / (2.0 * (column.n + 1)) for column in table.columns]
    return np.asfortranarray(np.column_stack(columns))


def _fitted(backend: Any, u: NDArray[np.float64], levels: int, jobs: int | None) -> Any:
    import joblib

    families = [getattr(backend.BicopFamily, name) for name in _FAMILIES]
    controls = backend.FitControlsVinecop(family_set=families, trunc_lvl=levels, num_threads=joblib.effective_n_jobs(jobs))
    return backend.Vinecop.from_data(u, controls=controls)


def _places(model: Any) -> list[list[Edge]]:
    """All edges, tree by tree, in the vine's order."""
    order, array = model.order, model.structure.struct_array
    found = []
    for tree in range(model.trunc_lvl):
        edges = []
        for k in range(len(order) - 1 - tree):
            a, b = order[k] - 1, array(tree, k) - 1
            given = tuple(sorted(array(level, k) - 1 for level in range(tree)))
            edges.append(Edge(tree + 1, min(a, b), max(a, b), given, a > b))
        found.append(edges)
    return found


def template_of(copula: Any, *, turned: bool = False) -> Copula:
    """The family of a pyvinecopulib copula, for the pair in its order or with the variables swapped.

    Both libraries rotate counter-clockwise: density c(1-u, v) at 90 degrees, c(u, 1-v) at 270. A Student t copula keeps the
    vine's degrees of freedom, which are used for both samples. Independence is replaced by the Gaussian family.
    """
    name, rotation = copula.family.name, copula.rotation
    if name in ("indep", "gaussian"):
        return gaussian()
    if name == "student":
        return resolve_family(StudentT, float(copula.parameters[1, 0]))[0]
    template, _ = resolve_family(f"{name}{rotation}" if rotation else name, None)
    return template._swapped() if turned else template


def _edge_table(sample: Draws, edges: Sequence[Edge], values: list[Pair]) -> RankedTable:
    """Two ranked columns for every edge, its first variable first."""
    columns = [column for edge, pair in zip(edges, values, strict=True) for column in (pair[::-1] if edge.turned else pair)]
    table = np.stack(columns, axis=-1).reshape(sample.n_chains, sample.n_draws, -1)
    return RankedTable.of(replace(sample, values=table, names=tuple(map(str, range(len(columns))))))
