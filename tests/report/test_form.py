"""The picture of form: densities that equal their coefficients, scales that are the same, and what cannot be drawn."""

import dataclasses
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from scipy.special import eval_legendre

import copula_discrepancy as cd
from copula_discrepancy.report.plots import clouds, look
from copula_discrepancy.report.plots.densities import CELLS, Densities, misfit
from tests.picture_cases import result


def three(size=(9.0, 3.5)):
    return Figure(figsize=size, layout="constrained").subplots(1, 3)


def summed(coefficients, u, v):
    """The smoothed density at one point, term by term."""
    total = 1.0
    for (j, k), a in np.ndenumerate(np.nan_to_num(coefficients)):
        first, second = (math.sqrt(2 * p + 3) * eval_legendre(p + 1, 2 * x - 1) for p, x in ((j, u), (k, v)))
        total += a * first * second
    return total


def funnel(seed=1, n=1000, lost=True):
    """A funnel, against draws whose scale is independent of it, or another such funnel."""
    rng = np.random.default_rng(seed)

    def make(keep):
        z, e = rng.standard_normal((2, n))
        return {"z": z if keep else rng.permutation(z), "x": np.exp(z) * e}

    return cd.discrepancy(make(not lost), make(True), family="gaussian", iid=True)


@pytest.mark.parametrize("name", ["target", "reference", "few", "discrete"])
def test_panels_have_the_values_of_the_coefficients(name):
    """Few draws, and few values, have coefficients that are NaN."""
    found = result(name)
    form, axes = found.form, cd.plot_form(found, ax=three())
    own, target, difference = (np.asarray(ax.images[0].get_array()) for ax in axes)
    sides = form.coefficients, form.target_coefficients
    for i, j in ((0, 0), (3, 40), (24, 24), (47, 10), (47, 47)):
        u, v = (j + 0.5) / CELLS, (i + 0.5) / CELLS  # columns are the first variable
        a, b = (summed(side, u, v) for side in sides)
        assert own[i, j] == pytest.approx(max(a, 0.0), abs=1e-12)
        assert target[i, j] == pytest.approx(max(b, 0.0), abs=1e-12)
        assert difference[i, j] == pytest.approx(a - b, abs=1e-12)  # where either is below 0 too
    assert axes[0].images[0].origin == "lower"
    assert np.isnan(form.coefficients).any() == (name == "few")
    assert (own >= 0.0).all()


def test_panels_can_be_compared():
    axes = cd.plot_form(funnel(), ax=three())
    scales = [ax.images[0].get_clim() for ax in axes]
    assert scales[0] == scales[1]
    assert scales[0][0] == 0.0
    assert scales[2][0] == -scales[2][1]
    assert {ax.get_xlabel() for ax in axes} == {"rank of z"}
    assert {ax.get_ylabel() for ax in axes} == {"rank of x"}
    assert all(ax.images[0].colorbar is not None for ax in axes)
    low, high = (axes[2].images[0].to_rgba(np.array([side])) for side in scales[2])
    assert to_hex(low[0]) == look.BLUE.lower()  # too few
    assert to_hex(high[0]) == look.ORANGE.lower()


def test_pattern_and_share_are_told():
    found = funnel()
    assert found.form.code == "spread second: lost"
    axes = cd.plot_form(found)
    title = axes[0].figure.get_suptitle().replace("\n", " ")
    assert found.form.pattern in title
    assert f"Form {found.form.value:.2f}" in title
    assert "keep none" in title
    notes = axes[0].texts[-1].get_text()
    assert "order 4" in notes
    assert "below 0 drawn as 0" in notes
    plt.close(axes[0].figure)
    given = cd.plot_form(found, ax=three())  # a figure of the user's own has a title of the user's own
    assert given[0].figure.get_suptitle() == ""
    assert found.form.pattern in given[2].texts[-1].get_text().replace("\n", " ")


def test_what_is_not_known_is_not_drawn():
    found = result("target")
    nothing = np.full((4, 4), math.nan)
    form = dataclasses.replace(found.form, coefficients=nothing, pvalue=math.nan)
    axes = cd.plot_form(dataclasses.replace(found, estimates={**found.estimates, "form": form}), ax=three())
    assert [len(ax.images) for ax in axes] == [0, 0, 0]
    assert all("not available" in ax.texts[0].get_text() for ax in axes)
    assert "not tested" in axes[2].texts[-1].get_text()
    half = found.form.coefficients.copy()
    half[2:] = math.nan
    some = Densities.of(dataclasses.replace(found.form, coefficients=half))
    both = np.where(np.isnan(half), 0.0, found.form.target_coefficients)  # nor compared with what the other side has there
    u, v = 30.5 / CELLS, 5.5 / CELLS
    assert some.target[5, 30] == pytest.approx(summed(both, u, v), abs=1e-12)


def test_wrong_subjects_and_axes():
    with pytest.raises(cd.InputError, match=r"^plot_form .* got Fit"):
        cd.plot_form(result("fit"))
    with pytest.raises(cd.InputError, match=r"^ax .* 3 Axes.* got 2"):
        cd.plot_form(result("target"), ax=Figure().subplots(1, 2))


def test_a_fit_is_compared_with_its_own_copula():
    """Draws of the family have nothing but chance left; those of another one have its corner."""
    own, other = (cd.fit(copula.sample(4000, rng=1), "gumbel", iid=True) for copula in (cd.Gumbel(2.0), cd.Clayton(2.0)))
    right, wrong = (Densities.of_fit(fit, 4) for fit in (own, other))
    assert np.sqrt(np.mean(right.difference**2)) < 0.15 < 0.4 < np.sqrt(np.mean(wrong.difference**2))
    assert wrong.difference[0, 0] > 1.0
    assert wrong.difference[-1, -1] < -1.0


# ---- families that do not fit --------------------------------------------------------------------------------------


def colours_of(panel):
    return {to_hex(colour) for item in panel.collections if isinstance(item, QuadContourSet) for colour in item.get_edgecolor()}


def test_contours_are_pale_where_the_family_does_not_fit():
    both = funnel(lost=False)
    assert both.outcome == "no gap"  # two funnels: nothing differs, and no family describes either
    assert clouds.Tested.of(both).misfits == (True, True)
    for panel in cd.plot_pair(both, ax=Figure().subplots(1, 2)):
        assert colours_of(panel) == {look.PALE}
        assert clouds.MISFIT in panel.texts[-1].get_text()
    right = result("reference")
    assert clouds.Tested.of(right).misfits == (False, False)
    for panel in cd.plot_pair(right, ax=Figure().subplots(1, 2)):
        assert colours_of(panel) == {"#000000"}
        assert clouds.MISFIT not in panel.texts[-1].get_text()
    overlay = cd.plot_pair(result("target"), ax=Figure().subplots())
    assert colours_of(overlay) == {look.PALE, "#000000"}  # the draws' family, and the target itself
    assert [line.get_color() for line in overlay.get_legend().get_lines()] == [look.PALE, "black"]


@pytest.mark.slow
def test_chance_alone_makes_few_families_misfit():
    """At most 5% by the rule; 200 samples, exact binomial 99.9% bound. Draws of another family are always found."""

    def misfits(copula, runs):
        count = 0
        for seed in range(runs):
            found = cd.discrepancy(copula.sample(300, rng=seed), cd.Gaussian(0.5), iid=True)
            count += misfit(found.form.coefficients, found.form.errors, found.fit.copula, 0.05)
        return count

    assert misfits(cd.Gaussian(0.5), 200) <= 21
    assert misfits(cd.Clayton(3.0), 20) == 20
