"""The functions of the library as methods of xarray's objects: ``dt.dependence.pairwise(reference)``.

xarray calls such attributes accessors. `register` is called when both this library and xarray have been imported, in any order;
everything else is loaded when a method is called.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from arviz_plots import PlotCollection, PlotMatrix

    from copula_discrepancy.compare.groups_result import GroupedPairwise
    from copula_discrepancy.compare.interactions_result import Interactions
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.one_result import Discrepancy
    from copula_discrepancy.compare.screen_result import Screening
    from copula_discrepancy.compare.vine_result import VineGaps
    from copula_discrepancy.data.draws import Draws

NAME = "dependence"
_CLASSES = ("Dataset", "DataArray", "DataTree")


def register() -> None:
    """Give xarray's Dataset, DataArray and DataTree the attribute `dependence`; again and again does no harm."""
    import xarray as xr

    for kind in _CLASSES:
        there = getattr(xr, kind).__dict__.get(NAME)
        if getattr(getattr(there, "_accessor", None), "__qualname__", "") != DependenceAccessor.__qualname__:
            getattr(xr, f"register_{kind.lower()}_accessor")(NAME)(DependenceAccessor)


class DependenceAccessor:
    """The dependence between the variables of an xarray object, as ``dt.dependence``.

    Each method calls the function of the same name with the object as its draws, and takes its options. The first four of
    these are ArviZ's: `var_names`, `filter_vars`, `group` and `coords`. A Dataset and a DataArray are one group, so only a
    DataTree takes `group`, and only a DataTree, or a group of one, knows which draws diverged.

    Parameters
    ----------
    given : Dataset, DataArray or DataTree
        The object, with a dimension `draw` and, for chains, a dimension `chain`.

    See Also
    --------
    pairwise, discrepancy, summary, screen, interactions, vine, plot_pair, plot_pairwise, plot_gap_forest : The functions.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import copula_discrepancy as cd
    >>> mu, tau, fresh = np.random.default_rng(1).standard_normal((3, 4, 500))
    >>> draws = xr.Dataset({"mu": (("chain", "draw"), mu), "tau": (("chain", "draw"), tau)})
    >>> reference = xr.Dataset({"mu": (("chain", "draw"), fresh), "tau": (("chain", "draw"), fresh + tau[:, ::-1])})
    >>> draws.dependence.pairwise(reference).worst.verdict
    'too weak'
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    def __repr__(self) -> str:
        methods = [name for name, kind in vars(type(self)).items() if callable(kind) and not name.startswith("_")]
        return f"dependence of a {type(self._given).__name__}: {', '.join(methods)}"

    def draws(
        self,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Draws":
        """The variables as named draws; see `as_draws`.

        Parameters
        ----------
        var_names, filter_vars, group, coords
            As in ArviZ.
        **options : object
            Other options of `as_draws`.

        Returns
        -------
        Draws
            Values, names, and which draws diverged.
        """
        from copula_discrepancy.data.draws import as_draws

        return as_draws(
            self._given, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options
        )  # fmt: skip

    def pairwise(
        self,
        target: Any = None,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Pairwise | GroupedPairwise":
        """Every pair of variables compared with a reference, worst first; see `pairwise`.

        Parameters
        ----------
        target : anything `pairwise` accepts
            A reference sample with the same variables, copulas, a correlation matrix, or None.
        var_names, filter_vars, group, coords
            As in ArviZ; for a reference with groups too.
        **options : object
            Other options of `pairwise`.

        Returns
        -------
        Pairwise
            The ranked pairs.
        """
        from copula_discrepancy.compare.many import pairwise

        return pairwise(
            self._given, target, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options
        )

    def discrepancy(
        self,
        first: str,
        second: str,
        target: Any,
        *,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Discrepancy":
        """Two variables compared with a copula or a reference; see `discrepancy`.

        Parameters
        ----------
        first, second : str
            The two variables, such as "mu" and "theta[Choate]".
        target : Copula or anything `as_draws` accepts
            A copula, or a reference sample with these variables, which may have others as well.
        group, coords
            As in ArviZ; for a reference with groups too.
        **options : object
            Other options of `discrepancy`.

        Returns
        -------
        Discrepancy
            The gaps with their tests.
        """
        from copula_discrepancy.compare.one import discrepancy
        from copula_discrepancy.data.matching import read_reference
        from copula_discrepancy.families import Copula

        selection: dict[str, Any] = {"var_names": [first, second], "group": group, "coords": coords}
        draws = self.draws(**selection)
        if target is not None and not isinstance(target, Copula):
            target = read_reference(target, draws, selection)
        return discrepancy(draws, target, **options)

    def summary(
        self,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "pd.DataFrame":
        """Kendall's tau of every pair, with its error and convergence; see `summary`.

        Parameters
        ----------
        var_names, filter_vars, group, coords
            As in ArviZ.
        **options : object
            Other options of `summary`.

        Returns
        -------
        DataFrame
            One row per pair.
        """
        from copula_discrepancy.compare.summary import summary

        return summary(self._given, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options)

    def screen(
        self,
        reference: Any,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Screening":
        """The form of dependence of very many pairs compared with a reference; see `screen`.

        Parameters
        ----------
        reference : anything `as_draws` accepts
            A sample of the same variables.
        var_names, filter_vars, group, coords
            As in ArviZ; for a reference with groups too.
        **options : object
            Other options of `screen`.

        Returns
        -------
        Screening
            The pairs, worst first.
        """
        from copula_discrepancy.compare.screen import screen

        return screen(
            self._given, reference, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options
        )

    def interactions(
        self,
        reference: Any = None,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Interactions":
        """Dependence among three variables compared with a reference; see `interactions`.

        Parameters
        ----------
        reference : anything `as_draws` accepts, optional
            A sample of the same variables.
        var_names, filter_vars, group, coords
            As in ArviZ; for a reference with groups too.
        **options : object
            Other options of `interactions`.

        Returns
        -------
        Interactions
            The triples, worst first.
        """
        from copula_discrepancy.compare.interactions import interactions

        return interactions(
            self._given, reference, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options
        )

    def vine(
        self,
        reference: Any,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "VineGaps":
        """Conditional dependence compared with a reference, edge by edge of a vine; see `vine`.

        Parameters
        ----------
        reference : anything `as_draws` accepts
            A sample of the same variables.
        var_names, filter_vars, group, coords
            As in ArviZ; for a reference with groups too.
        **options : object
            Other options of `vine`.

        Returns
        -------
        VineGaps
            The edges, worst first.
        """
        from copula_discrepancy.compare.vine import vine

        return vine(self._given, reference, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, **options)

    def plot_pair(
        self,
        first: str,
        second: str,
        target: Any,
        *,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        compare: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Two variables as ranks next to a copula or a reference, by matplotlib; see `plot_pair`.

        Parameters
        ----------
        first, second, target, group, coords
            As in `discrepancy`.
        compare : dict, optional
            Other options of `discrepancy`.
        **options : object
            Options of `plot_pair`.

        Returns
        -------
        array of two Axes
            The panels.
        """
        from copula_discrepancy.report.plots.clouds import plot_pair

        _require_others(compare, ("first", "second", "target", "group", "coords"))
        result = self.discrepancy(first, second, target, group=group, coords=coords, **(compare or {}))
        return plot_pair(result, **options)

    def plot_pairwise(
        self,
        target: Any = None,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        compare: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "PlotMatrix":
        """Compare every pair, and draw the variables as a matrix with arviz-plots; see `plot_pairwise`.

        Parameters
        ----------
        target, var_names, filter_vars, group, coords
            As in `pairwise`. At most six of the variables are drawn, those of the worst pairs; to choose others, pass the
            result of `pairwise` to `copula_discrepancy.plot_pairwise`.
        compare : dict, optional
            Other options of `pairwise`.
        **options : object
            Options of `plot_pairwise`.

        Returns
        -------
        PlotMatrix
            Clouds of ranks and gaps.
        """
        from copula_discrepancy.report.plots.arviz_matrix import plot_pairwise

        result = self._ranked(target, var_names, filter_vars, group, coords, compare)
        return plot_pairwise(result, **options)

    def plot_gap_forest(
        self,
        target: Any = None,
        *,
        var_names: str | Sequence[str] | None = None,
        filter_vars: str | None = None,
        group: str = "posterior",
        coords: Mapping[str, Any] | None = None,
        compare: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "PlotCollection":
        """Compare every pair, and draw the worst with intervals with arviz-plots; see `plot_gap_forest`.

        Parameters
        ----------
        target, var_names, filter_vars, group, coords
            As in `pairwise`.
        compare : dict, optional
            Other options of `pairwise`.
        **options : object
            Options of `plot_gap_forest`.

        Returns
        -------
        PlotCollection
            The forest.
        """
        from copula_discrepancy.report.plots.arviz_forest import plot_gap_forest

        return plot_gap_forest(self._ranked(target, var_names, filter_vars, group, coords, compare), **options)

    def _ranked(self, target: Any, var_names: Any, filter_vars: Any, group: str, coords: Any, compare: Any) -> Any:
        selection = {"var_names": var_names, "filter_vars": filter_vars, "group": group, "coords": coords}
        _require_others(compare, ("target", *selection))
        return self.pairwise(target, **selection, **(compare or {}))


def _require_others(compare: Any, known: Sequence[str]) -> None:
    """Raise unless options of the comparison are a mapping, and none of them is an argument of the method itself."""
    if compare is not None and not isinstance(compare, Mapping):
        rule = "compare must be a mapping of options of the comparison, such as {'n_jobs': 1}"
        raise InputError(f"{rule}, got {compare!r:.60}")
    for name in compare or ():
        if name in known:
            raise InputError(f"compare has {name!r}, which is an argument of this method: pass {name}=... beside compare")
