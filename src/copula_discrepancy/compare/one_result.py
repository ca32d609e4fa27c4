"""Result of `discrepancy`: gaps, scores, tests and sentences for one pair of variables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, WithCaveats
from copula_discrepancy._core.checks import RandomSource, one_of, random_generator, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare import divergences, wording
from copula_discrepancy.compare.divergences import Divergences
from copula_discrepancy.compare.form_result import Form
from copula_discrepancy.compare.margins import Margins
from copula_discrepancy.compare.tested_wording import tested
from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.estimate.agreement import Agreement
from copula_discrepancy.estimate.bootstrap import (
    GAPS,
    block_length,
    bootstrap_estimate,
    bootstrap_scores,
    replicates,
    require_resampling,
    with_ties,
)
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.multiplicity import adjust_pvalues
from copula_discrepancy.estimate.selection import Selection
from copula_discrepancy.estimate.tails import CORNERS, TailGap, along, joint_pvalue, part_name, reachable
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.families import Copula

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INFERENCE_METHODS = ("influence", "bootstrap")


@dataclass(frozen=True, eq=False)
class Discrepancy(WithCaveats):
    """Result of `discrepancy`: the gaps between the dependence of the draws and the target, with their uncertainty.

    Print it for a summary in words.

    Attributes
    ----------
    level, shape, total : Estimate
        The gaps in strength, in family and tails, and their sum.
    form : Form
        The gap in form, which sees every kind of dependence, with its coefficients, its pattern and the share `kept`.
    low_low, high_high, low_high, high_low : Estimate or None
        The gaps in the four corners: both variables low, both high, the first low and the second high, and the first high and
        the second low.
    cd, cd_moment : float
        The paper's discrepancies: the absolute values of total (maximum likelihood) and of level (moments).
    ckl, ced : float
        Kullback-Leibler divergence of the fitted copula from the target, and absolute difference of their entropies.
    target : Copula
        The copula that the draws were compared with; with a reference sample, the copula fitted to it.
    estimates : mapping from str to Estimate
        All of these and "tau", "theta", "tau_fitted", "ckl", "ced", each with se, ci, pvalue and n_eff.
    influence : mapping from str to array (chain, draw)
        The influence of each draw on each of them; NaN if theta is at a bound.
    agreement : Agreement
        R-hat for dependence, and the tau of each chain.
    theta, tau, n
        Fitted parameter, Kendall's tau-b of the draws, number of draws.
    tau_fitted, tau_target : float
        Taus of the fitted copula and of the target (or of the reference's draws); with method="moment" tau_fitted is tau, even
        if no theta reaches it.
    method, shannon, inference : str
        How theta was fitted, how CKL and CED were computed, and how standard errors were obtained.
    fit : Fit
        The fit of the target's family to the draws.
    reference, reference_agreement : Fit and Agreement, or None
        The fit to the reference sample, whose copula is the target, and whether its chains agree.
    selection : Selection or None
        How the family was chosen, with family="auto".
    tail : float
        The fraction of each variable that counts as its tail.
    form_rhats : (float, float)
        The largest R-hat over the coefficients of form, of the draws and of the reference; NaN if nothing can be compared.
    corners : mapping from str to TailGap
        The joint shares in the corners, of the draws and of the target, with their gaps.
    things : str
        The noun for the observations in messages: "draws", or "rows" for a table.
    in_ranking : mapping from str to float, or None
        Adjusted p-values of the ranking that the pair belongs to.
    caveats : tuple of Caveat
        Limitations to keep in mind when interpreting the numbers; `warnings` holds their sentences.
    notes : tuple of str
        Notes on how the draws and the reference were read.
    version : str
        The library's version.
    margin_gaps : Margins or None
        The two variables one by one, compared with those of a reference sample; they do not enter the verdict.
    diverging : (array or None, array or None)
        Which draws, and which of the reference's, the sampler reports as divergent, (chain, draw); None if it says nothing.
    chain_names : tuple of str
        What messages call the chains, if they have labels.
    divergences_in_ranking : Divergences or None
        Where divergent draws are, with p-values adjusted as in the ranking that the pair belongs to.

    See Also
    --------
    discrepancy : The function that returns it, with formulas and sources.
    Pairwise : The same for every pair of variables.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5))
    >>> result.verdict, round(result.cd, 3), round(result.cd_moment, 3)
    ('wrong shape, low-low tail too thick, high-high tail too thin', 0.122, 0.015)
    >>> result.cd == abs(result.total.value), result.total.pvalue < 0.001
    (True, True)
    """

    target: Copula
    estimates: Mapping[str, Estimate]
    influence: Mapping[str, NDArray[np.float64]]
    agreement: Agreement
    tau_target: float
    method: str
    shannon: str
    inference: str
    fit: Fit
    reference: Fit | None
    reference_agreement: Agreement | None
    selection: Selection | None
    tail: float
    form_rhats: tuple[float, float]
    corners: Mapping[str, TailGap]
    things: str
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str
    in_ranking: Mapping[str, float] | None = None
    margin_gaps: Margins | None = None
    diverging: tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None] = (None, None)
    chain_names: tuple[str, ...] = ()
    divergences_in_ranking: Divergences | None = None

    @property
    def too_rare(self) -> str:
        """Why level was not tested if too few draws carry information about it; otherwise empty."""
        return next((caveat.sentence for caveat in self.caveats if caveat.code == "rare-values"), "")

    @property
    def level(self) -> Estimate:
        """The gap in strength, tau - tau_target: positive if the draws' tau is too large.

        Its absolute value is the paper's moment-based CD. It does not depend on family and tails.
        """
        return self.estimates["level"]

    @property
    def shape(self) -> Estimate:
        """The gap in family and tails, tau_fitted - tau.

        It differs from 0 if the target's family, fitted to the draws, does not have their tau because its tails differ; the
        target's theta does not enter. Always 0 with method="moment". With a reference sample, the draws' shape minus the
        reference's.
        """
        return self.estimates["shape"]

    @property
    def total(self) -> Estimate:
        """Level and shape together, tau_fitted - tau_target.

        Its absolute value is the paper's CD by maximum likelihood. It is near 0 if level and shape cancel, so check both.
        """
        return self.estimates["total"]

    @property
    def form(self) -> Form:
        """The gap in form: the root mean square difference of the smoothed copula densities of draws and target.

        In units of the density of independence, 1. It sees every kind of dependence, including those that have Kendall's tau 0,
        such as funnels, bends and rings.
        """
        found = self.estimates["form"]
        assert isinstance(found, Form)
        return found

    @property
    def low_low(self) -> Estimate | None:
        """The gap where both variables are low, a difference of shares; None if no draw is there or nothing can be compared.

        The share of the lowest tenth (`tail`) of the first variable that lies in that of the second, minus the same share in
        the target's family at the draws' own tau; with a reference sample, minus the reference's own gap.
        """
        return self.estimates.get("low_low")

    @property
    def high_high(self) -> Estimate | None:
        """As `low_low`, where both variables are high."""
        return self.estimates.get("high_high")

    @property
    def low_high(self) -> Estimate | None:
        """As `low_low`, where the first variable is low and the second high."""
        return self.estimates.get("low_high")

    @property
    def high_low(self) -> Estimate | None:
        """As `low_low`, where the first variable is high and the second low."""
        return self.estimates.get("high_low")

    @property
    def lower_tail(self) -> Estimate | None:
        """Deprecated: `low_low` or, for negative dependence, `low_high`."""
        return self._along(0, "lower_tail")

    @property
    def upper_tail(self) -> Estimate | None:
        """Deprecated: `high_high` or, for negative dependence, `high_low`."""
        return self._along(1, "upper_tail")

    def _along(self, end: int, old: str) -> Estimate | None:
        name = along(self.tau, self.tau_target)[end]
        warn(f"{old} is deprecated; use {name}", DeprecationWarning)
        return self.estimates.get(name)

    @property
    def cd(self) -> float:
        """The paper's Copula Discrepancy, |total| (Aich and Aich, 2025, definition 4.2); |level| where there is none."""
        return abs(self.level.value if math.isnan(self.total.value) else self.total.value)

    @property
    def cd_moment(self) -> float:
        """The paper's moment-based Copula Discrepancy, |level| (Aich and Aich, 2025, definition 4.2)."""
        return abs(self.level.value)

    @property
    def ckl(self) -> float:
        """Kullback-Leibler divergence of the fitted copula from the target, in nats (Aich and Aich, 2025, equation 3).

        0 if they are equal, infinite for perfectly dependent draws. ``estimates["ckl"]`` has its interval and test.
        """
        return self.estimates["ckl"].value

    @property
    def ced(self) -> float:
        """Absolute difference of the two entropies, in nats (Aich and Aich, 2025, equation 2).

        Infinite for perfectly dependent draws. ``estimates["ced"]`` has its interval and test.
        """
        return self.estimates["ced"].value

    @property
    def theta(self) -> float:
        """The fitted parameter."""
        return self.fit.theta

    @property
    def tau(self) -> float:
        """Kendall's tau-b of the draws."""
        return self.fit.sample_tau

    @property
    def tau_fitted(self) -> float:
        """The fitted copula's tau."""
        return self.estimates["tau_fitted"].value

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.fit.n

    @property
    def margins(self) -> str:
        """How the margins were treated."""
        return self.fit.margins

    @property
    def iid(self) -> bool:
        """Whether the draws were treated as independent."""
        return self.fit.iid

    @property
    def independent(self) -> tuple[bool, bool]:
        """Whether the draws, and the reference's, were taken as independent."""
        return self.iid, self.iid if self.reference is None else self.reference.iid

    @property
    def rhat(self) -> float:
        """R-hat for dependence: whether the chains agree on tau; see `Agreement`."""
        return self.agreement.rhat

    @property
    def n_eff(self) -> float:
        """The smallest effective sample size of the three gaps, for the draws alone."""
        return self.fit.n_eff

    @property
    def tails(self) -> Mapping[str, Estimate]:
        """The tail gaps that could be computed, by corner."""
        return {name: self.estimates[name] for name in CORNERS if name in self.estimates}

    @property
    def tails_pvalue(self) -> float:
        """One p-value for all corners: the smallest times their number; NaN if none was tested."""
        return float(joint_pvalue([gap.pvalue for gap in self.corners.values()]))

    @property
    def tests(self) -> PairTests:
        """The tests of strength, shape, form and tails, adjusted for each other (Benjamini-Hochberg) or for the ranking."""
        pvalues = {"level": self.level.pvalue, "shape": self.shape.pvalue, "tails": self.tails_pvalue}
        pvalues["form"] = self.form.pvalue
        adjusted = self.in_ranking or dict(zip(pvalues, adjust_pvalues([*pvalues.values()]).tolist(), strict=True))
        tau_ses = self.estimates["tau"].se, 0.0 if self.reference is None else self.reference.spreads["tau"].se
        corners = {name: (gap.value, gap.pvalue) for name, gap in self.corners.items()}
        taus, alpha = (self.tau, self.tau_target), 1.0 - self.level.confidence
        return PairTests(taus, tau_ses, adjusted, corners, True, alpha, self.void, self.form.code)

    @property
    def verdict(self) -> str:
        """The significant gaps in words, such as "too weak, low-low tail too thin"; or "no gap found", "not tested" or "void".

        Strength, shape, form and tails are tested together at 1 - confidence (Benjamini-Hochberg); a pair of a ranking keeps
        the adjusted p-values of the ranking.
        """
        return self.tests.verdict

    @property
    def outcome(self) -> str:
        """The verdict as one of four words: "gap", "no gap", "not tested" or "void"."""
        return self.tests.outcome

    @property
    def resampled(self) -> bool:
        """Whether standard errors come from the bootstrap rather than from influence values."""
        return self.inference != INFERENCE_METHODS[0]

    @property
    def gap_found(self) -> bool:
        """Whether a test found a gap: of strength, of shape, of form, or of tails."""
        return bool(self.tests.faults)

    @property
    def divergences(self) -> Divergences | None:
        """Where divergent draws are: whether they gather where this pair has a gap; None if the sampler says nothing.

        For a pair with a gap, ``divergences.places`` has the share of divergent draws in the quarter of the draws where the
        smoothed density of their ranks differs most from the target's, and in each corner with a gap, next to the share of all
        draws. Their p-values compare with all rotations of the divergences along their chains.
        """
        return divergences.of_one(self)

    def infer(
        self,
        *,
        method: str = "bootstrap",
        replications: int = 999,
        block: int | None = None,
        rng: RandomSource = None,
        progress: bool | None = None,
    ) -> "Discrepancy":
        """Return the same result with standard errors, intervals and p-values from the bootstrap, as a cross-check.

        Parameters
        ----------
        method : {"bootstrap"}
            With iid=True, samples simulated from the fitted copula; otherwise moving blocks of the chains (Kunsch, 1989), with
            deviations from their own mean, so that bias is not included. A reference is resampled too. Tail gaps, and CKL and
            CED with an estimated df, keep the standard errors from influence values.
        replications : int
            Number of bootstrap samples; each is ranked and fitted again.
        block : int, optional
            Block length; by default the optimal one for the mean of an AR(1) process with the draws' n_eff.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.
        progress : bool, optional
            Show a progress bar on stderr; by default only if stderr is a terminal.

        Returns
        -------
        Discrepancy
            The same values with the bootstrap's uncertainty.

        Raises
        ------
        InputError
            If bootstrap samples cannot represent the draws: perfect dependence, or with iid=True a family at its bound.

        References
        ----------
        Kunsch, H. R. (1989). The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17,
        1217-1241.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.discrepancy(cd.Clayton(3.0).sample(300, rng=1), cd.Gumbel(2.5), iid=True)
        >>> again = result.infer(replications=100, rng=1)
        >>> again.level.value == result.level.value, 0.7 < again.level.se / result.level.se < 1.4
        (True, True)
        """
        one_of(method, "method", INFERENCE_METHODS[1:])
        count, source = whole_number(replications, "replications", 10), random_generator(rng)
        if block is not None and self.iid:
            raise InputError(f"block is for chains only; got block={block!r} with iid=True")
        samples = {"the draws": self.fit} | ({"the reference's draws": self.reference} if self.reference is not None else {})
        for whose, fitted in samples.items():
            if fitted.pair.weights is not None:
                raise InputError("the bootstrap draws rows again, and rows that were counted are gone; use rows in memory")
            require_resampling(fitted, whose)
            n_draws = fitted.n // fitted.pair.n_chains
            if block is not None and whole_number(block, "block", 1) > n_draws:
                raise InputError(f"block must not be longer than a chain of {whose}, {n_draws} draws, got {block}")
        found = replicates(self.fit, count, source, block=block, progress=progress)
        if self.reference is not None:
            label = "bootstrap of the reference"
            found = found.less(replicates(self.reference, count, source, block=block, progress=progress, label=label))
        deviations = found.deviations()
        if self.reference is None:
            deviations = with_ties(deviations, self.fit, self.estimates, source)
        estimates = dict(self.estimates)
        for name in GAPS:
            if not math.isfinite(self.estimates[name].se):
                continue  # no normal limit, as at a bound; resampling does not help
            tested = name in ("level", "shape", "total")
            estimates[name] = bootstrap_estimate(self.estimates[name], deviations[name], tested=tested)
        if math.isfinite(estimates["ckl"].se) and not self.fit.df_estimated:
            ckl, ced, theta = (self.estimates[name] for name in ("ckl", "ced", "theta"))
            scores = bootstrap_scores(ckl, ced, theta, self.fit.copula, self.target, deviations["theta"])
            estimates["ckl"], estimates["ced"] = scores
        length = f"blocks of {block or block_length(self.fit)}" if not self.iid else "parametric"
        return replace(self, estimates=estimates, inference=f"bootstrap ({length}, {count} replications)")

    def plot(self, *, ax: Any = None) -> "Axes":
        """Draw every gap with its interval around zero: filled if it is significant, hollow otherwise.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into, with their current style; by default a new figure.

        Returns
        -------
        Axes
            The axes drawn into.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> import copula_discrepancy as cd
        >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
        >>> ax = result.plot(ax=Figure().subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['level', 'shape', 'total', 'form', 'low-low', 'high-high', 'low-high', 'high-low']
        """
        from copula_discrepancy.report.plots.gap_bars import plot_gaps

        return plot_gaps(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text except the influence values, ready for Python's json (infinite and missing numbers included).

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
        >>> sorted(result.to_dict()["level"])
        ['bias', 'ci', 'confidence', 'df', 'n_eff', 'pvalue', 'se', 'value']
        """
        plain: dict[str, Any] = {name: estimate.to_dict() for name, estimate in self.estimates.items()}
        plain |= {
            name: getattr(self, name) for name in ("cd", "cd_moment", "tau_target", "n", "n_eff", "rhat", "iid", "margins")
        }
        plain |= {
            name: getattr(self, name)
            for name in ("method", "shannon", "inference", "version", "tail", "tails_pvalue", "verdict")
        }
        plain["form_rhats"] = list(self.form_rhats)
        plain["shares"] = {name: [gap.share, gap.share_target] for name, gap in self.corners.items()}
        plain["adjusted"] = dict(self.tests.adjusted)
        plain |= {"target": repr(self.target), "fit": self.fit.to_dict(), "agreement": self.agreement.to_dict()}
        plain["reference_agreement"] = self.reference_agreement.to_dict() if self.reference_agreement is not None else None
        plain["reference"] = self.reference.to_dict() if self.reference is not None else None
        plain["selection"] = self.selection.to_dict() if self.selection is not None else None
        plain["margin_gaps"] = self.margin_gaps.to_dict() if self.margin_gaps is not None else None
        plain["divergences"] = self.divergences.to_dict() if self.divergences is not None else None
        return plain | {"words": self.sentences(), "notes": list(self.notes)} | self._recorded()

    def to_html(self, path: Any, *, force: bool = False, command: str | None = None) -> Path:
        """Write a self-contained HTML page and, next to it, a .json file with every number; return the page's path.

        The page has the answer in words, both clouds of ranks with their contours and tails, every gap with its interval, each
        chain's tau, the running gap, and explanations of the numbers.

        Parameters
        ----------
        path : path
            Path of the page, ending in .html, in an existing folder.
        force : bool
            Overwrite existing files.
        command : str, optional
            The command that the page shows as its origin; by default the call in Python.

        Returns
        -------
        Path
            Path of the page.

        Raises
        ------
        InputError
            If the page cannot be written, or if files exist already.
        """
        from copula_discrepancy.report.page import content, methods, writing

        checked = writing.page_path(path, force)
        given = ["draws", methods.typed(self.target) if self.reference is None else "reference"]
        own = {
            "family": None if self.reference is None else self.fit.family,
            "method": self.method,
            "margins": None if self.margins == "rank" else self.margins,
            "estimate_df": True if self.fit.df_estimated and self.reference is None else None,
            "iid": self.iid,
            "confidence": self.level.confidence,
            "shannon": None if self.shannon == "exact" else self.shannon,
        }
        then = ".infer(method='bootstrap')" if self.resampled else ""
        made = methods.call("discrepancy", given, own, checked, then=then)
        return writing.write_page(checked, *content.of_one(self, command or made), force=force)

    def table_rows(self) -> list[list[str]]:
        """Every gap and score as text, with a heading."""
        names = ["level", "shape", "total", *self.tails]
        rows = [wording.row(name.replace("_", "-"), self.estimates[name], is_gap=True) for name in names]
        rows[3:3] = [wording.row(name, self.estimates[name], is_gap=False) for name in ("form", "kept")]
        rows += [wording.row(name.upper(), self.estimates[name], is_gap=False) for name in ("ckl", "ced")]
        return [wording.heading(self.level.confidence), *rows]

    @property
    def summary(self) -> str:
        """What was compared, in one sentence."""
        df = f", df {self.fit.df:.4g}" if self.fit.df is not None else ""
        shape = f"{self.fit.pair.n_chains} x {self.n // self.fit.pair.n_chains}" if self.fit.pair.n_chains > 1 else f"{self.n}"
        aim = f"target {self.target!r}"
        if self.reference is not None:
            things = "draws" if self.reference.pair.n_chains > 1 else self.things
            aim = f"reference of {self.reference.n} {things}"
        return (
            f"{shape} {self.things}: Kendall's tau {self.tau:.4g}, {aim} with tau {self.tau_target:.4g}, "
            f"fitted {self.fit.family} with theta {self.theta:.4g}{df}, tau {self.fit.tau:.4g} ({self.method})"
        )

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Strength, Shape, Form, Tails, Draws, and others if they apply, such as Margins.

        Where no gap was found, the topic Tested comes first: what was tested, and what is not seen.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
        >>> print(result.sentences()["Shape"])
        wrong (p < 0.001). The Gumbel copula fitted to these draws has a tau 0.085 below theirs.
        """
        pair, other, tests = self.fit.pair, self.reference, self.tests
        whose, which = ("the target's", self.fit.family) if other is None else ("the reference's", "the reference")
        texts = {"Tested": tested(self)} if self.outcome == "no gap" else {}
        texts |= {
            "Strength": wording.strength(
                self.level, *tests.taus, tests.ses, whose=whose, adjusted=tests.adjusted["level"], too_rare=self.too_rare
            ),
            "Shape": wording.shape(
                self.shape, self.fit.family, adjusted=tests.adjusted["shape"], against_sample=other is not None,
                by_moments=self.method == "moment", things=self.things,
            ),
        }  # fmt: skip
        texts["Form"] = self._form_sentence(tests)
        tails = []
        for name in tests.off_corners:
            where, gap = CORNERS[name].words(pair.names, self.tail, self.things), self.corners[name]
            aim, moved = gap.at_same_tau
            if other is None:  # a family that does not reach the draws' tau is replaced by the target itself
                at_tau = f"{which} at the same tau" if reachable(self.fit.template, self.tau) else "the target"
            else:
                at_tau = f"{which} at the same tau" if moved else which
            tails.append(wording.tail_sentence(where, (gap.share, aim), at_tau))
        texts["Tails"] = wording.tails(tails, self.tails_pvalue, tests.adjusted["tails"], part_name(self.tail), tests.n_corners)
        if self.margin_gaps is not None:
            same = f"not tested: the {self.things} and the reference are the same."
            texts["Margins"] = same if self.void else f"{self.margin_gaps.line}."
        texts[self.things.capitalize()] = wording.enough(self.n, self.n_eff, self.agreement, iid=self.iid, things=self.things)
        if other is not None and self.reference_agreement is not None:
            theirs = self.reference_agreement
            texts["Reference"] = wording.enough(other.n, other.n_eff, theirs, iid=other.iid, things=self.things)
        located = (
            "" if self.divergences is None else self.divergences.sentence("the target" if other is None else "the reference")
        )
        if located:
            texts["Divergent"] = located
        if self.selection is not None:
            texts["Family"] = self.selection.words() + "."
        if self.resampled:
            texts["Errors"] = f"{self.inference}; standard errors of the tails are from influence values."
        return texts

    def _form_sentence(self, tests: PairTests) -> str:
        form, whose = self.form, "the target" if self.reference is None else "the reference"
        kept = wording.kept_words(form.kept.value, form.kept.ci, form.confidence, f"{whose}'s", self.things)
        explained = any(map(tests.beyond, ("level", "shape", "tails")))
        return wording.form(form, tests.adjusted["form"], form.pattern, kept, order=form.tested_order, explained=explained)

    def __repr__(self) -> str:
        lines = [self._headline, *wording.wrapped(self.summary)]
        lines += [*wording.paragraphs(self.sentences()), *wording.text_table(self.table_rows())]
        return "\n".join(lines + wording.noted((*self.notes, *self.warnings)))

    def _repr_html_(self) -> str:
        notes = *self.notes, *self.warnings
        return wording.html(self._headline, self.summary, self.sentences(), self.table_rows(), notes)

    @property
    def _headline(self) -> str:
        return f"Copula discrepancy {self.cd:.4g}: {wording.answer_line(self, capital=False)}"
