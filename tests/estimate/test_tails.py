"""The four corners: counts, exact tests for few draws, and the sentences about them."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.ranking_wording import pair_tests
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.tails import CORNERS, CornerCount, joint_pvalue, part_name, share_beside, tail_gap
from tests.caveat_codes import warned
from tests.numerals import numerals, one_line

NAMES = ["equity", "bonds"]
ALONG = {"low_low": (1, 1), "high_high": (-1, -1), "low_high": (1, -1), "high_low": (-1, 1)}  # signs that bring it to low-low


def crashes(rng, n, signs=(1, 1)):
    """97% of days with correlation -0.35, 3% with both near -2.5, or in another corner."""
    values = rng.multivariate_normal([0, 0], [[1, -0.35], [-0.35, 1]], n)
    crash = rng.random(n) < 0.03
    values[crash] = rng.normal(-2.5, 0.3, (int(crash.sum()), 2))
    return pd.DataFrame(values * signs, columns=NAMES)


def generated(rng, n, signs=(1, 1)):
    """A Gaussian generator with the same Kendall's tau, -0.158."""
    rho = np.sin(np.pi * -0.158 / 2)
    return pd.DataFrame(rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n) * signs, columns=NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("corner", CORNERS)
def test_joint_crashes_are_found_in_every_corner(corner):
    """The gap is detected in all 20 runs; a generator with the crashes is not flagged."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        result = cd.pairwise(generated(rng, 2500, ALONG[corner]), crashes(rng, 2500, ALONG[corner]), iid=True)
        assert result.n_flagged == 1
        assert corner in pair_tests(result, result.rows[0]).off_corners
        assert CORNERS[corner].label in result[0].verdict
        assert getattr(result[0], corner) < 0  # too few are there
        assert abs(result[0].level) < 0.1  # Kendall's tau does not show it
    honest = [
        cd.pairwise(crashes(rng, 2500, ALONG[corner]), crashes(rng, 2500, ALONG[corner]), iid=True).n_flagged for _ in range(20)
    ]
    assert sum(honest) <= stats.binom.ppf(0.999, 20, 0.05)


def test_a_risk_manager_reads_it_once():
    rng = np.random.default_rng(2)
    real, fake = crashes(rng, 2500), generated(rng, 2500)
    result = cd.pairwise(fake, real, iid=True, tail=0.05)
    ranks = [frame.rank() for frame in (fake, real)]
    shares = [np.mean(rank.loc[rank["equity"] <= 125, "bonds"] <= 125) for rank in ranks]
    assert shares[0] < 0.05
    assert shares[1] > 0.3
    shown = [f"{100 * shares[0]:.1f}", f"{100 * shares[1]:.0f}"]
    told = result.sentences()["Tails"]
    assert numerals(told) == ["100", *shown, "0.001"]  # of 100 rows so many, so many in the reference, p
    assert told.count(part_name(0.05)) == 2
    assert 0 < told.find("equity") < told.find("bonds")
    assert numerals(result.pair(*NAMES).sentences()["Tails"])[:4] == ["0.001", "100", *shown]  # and other corners
    assert result.pair(*NAMES).verdict == result[0].verdict
    assert cd.DependenceFidelity.compute(real, fake) < 0.4 < 0.95 < cd.DependenceFidelity.compute(real, crashes(rng, 2500))


def test_the_gate_fails_on_a_corner_beyond_chance_only(tmp_path, capsys):
    rng = np.random.default_rng(3)
    for name, frame in (("real", crashes(rng, 2500)), ("fake", generated(rng, 2500)), ("honest", crashes(rng, 2500))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)

    def gate(draws, *options):
        code = main(["compare", str(tmp_path / draws), str(tmp_path / "real.csv"), "--iid", "--fail-above", "0.05", *options])
        return code, capsys.readouterr()

    code, said = gate("fake.csv")
    assert code == 3
    assert CORNERS["low_low"].label in said.err
    result = cd.pairwise(tmp_path / "fake.csv", tmp_path / "real.csv", iid=True)
    assert "equity" in result.sentences()["Tails"]
    assert result.sentences()["Tails"] in one_line(said.out)
    code, said = gate("honest.csv", "--json")
    assert code == 0
    row = json.loads(said.out)["pairs"][0]
    assert max(abs(row[name]) for name in CORNERS) > 0.01  # within chance, corners may differ
    code, said = gate("fake.csv", "--json", "--tail", "0.01")
    told = json.loads(said.out)
    assert told["tail"] == 0.01
    assert told["pairs"][0]["low_low_share"] <= 1.0


def test_corners_of_few_draws_are_counted_exactly():
    """Given the draws in both corners, those of one sample are binomial; of a known copula, Poisson."""

    def count(n, joint, expected, first=0.1):
        return CornerCount(n, first, first, joint / n, expected / n, StandardError(1e-4, n - 1.0, float(n)))

    few = tail_gap(count(1000, 0, 1.0), count(1000, 6, 1.0))
    assert few.pvalue == pytest.approx(2.0 * 0.5**6)  # with the standard error of the two, 1e-4, it would be 0
    uneven = tail_gap(count(1000, 2, 1.0), count(3000, 1, 3.0))
    assert uneven.pvalue == pytest.approx(2.0 * stats.binom.sf(1, 3, 0.25))
    shifted = tail_gap(count(1000, 4, 3.0), count(1000, 0, 1.0))
    assert shifted.pvalue == pytest.approx(max(2.0 * 0.5**4, 2.0 * 0.75**4))  # the taus explain three of four
    full = tail_gap(count(1000, 100, 99.0), count(1000, 95, 99.0))
    assert full.pvalue == pytest.approx(2.0 * 0.5**5)  # five outside of a corner that is nearly full
    known = tail_gap(count(1000, 5, 0.5), None)
    assert known.pvalue == pytest.approx(2.0 * stats.poisson.sf(4, 0.5))
    empty = tail_gap(count(1000, 0, 0.01), count(1000, 0, 0.01))
    assert empty.pvalue == 1.0
    many = tail_gap(count(1000, 30, 30.0), count(1000, 40, 30.0))
    assert many.pvalue == StandardError(np.sqrt(2e-8), 1998.0, 1000.0).pvalue(-0.1)
    absent = CornerCount(*[np.nan] * 5, StandardError.unknown())
    assert np.isnan(tail_gap(count(1000, 3, 3.0), absent).value)
    apart = tail_gap(count(1000, 3, 3.0), count(1000, 3, 3.0, first=0.13))
    assert np.isnan([apart.value, apart.pvalue]).all()  # with ties, tails of another size are of another thing


def test_many_corners_at_once_are_each_its_own():
    """Exact and normal tests, and corners that cannot be compared, side by side: the numbers are those of one by one."""
    rng = np.random.default_rng(6)
    n, first = np.full(60, 1000.0), np.where(np.arange(60) % 7 == 0, np.nan, 0.1)
    sides = []
    for _ in range(2):
        spread = StandardError(rng.uniform(0.005, 0.02, 60), np.full(60, 999.0), rng.uniform(200.0, 1200.0, 60))
        joint, expected = rng.integers(0, 100, 60) / 1000.0, rng.uniform(0.001, 0.099, 60)
        sides.append(CornerCount(n, first, first, joint, expected, spread))
    for other in (None, sides[1]):
        together = tail_gap(sides[0], other)
        alone = [tail_gap(sides[0].at(k), None if other is None else other.at(k)) for k in range(60)]
        assert len({gap.exact for gap in alone}) == 2
        for name in ("value", "pvalue", "share", "share_target", "exact"):
            np.testing.assert_array_equal(getattr(together, name), [getattr(gap, name) for gap in alone])


def test_corners_that_are_counted_have_no_normal_interval():
    result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5), iid=True)
    assert result.corners["low_high"].exact
    assert np.isnan(result.low_high.ci).all()
    assert not result.corners["low_low"].exact
    assert result.low_low.ci[0] < result.low_low.value < result.low_low.ci[1]
    assert "nan" not in repr(result)


def test_shares_that_are_told_agree_with_the_verdict():
    """Draws far stronger than the reference have more in its corners, and may have fewer than they should at their tau."""
    rng = np.random.default_rng(8)
    draws, reference = cd.Frank.from_tau(0.6).sample(4000, rng=rng), cd.Gumbel.from_tau(0.3).sample(4000, rng=rng)
    result = cd.discrepancy(draws, reference, family="gumbel", iid=True)
    gap = result.corners["high_high"]
    assert result.tests.beyond("level")
    assert result.level.value > 0
    assert "high_high" in result.tests.off_corners
    assert gap.value < 0
    assert gap.share > gap.share_target - 0.1
    aim, moved = gap.at_same_tau
    assert moved
    assert aim == pytest.approx(gap.share - gap.value)
    ranking = cd.pairwise(draws, reference, family="gumbel", iid=True)
    for told in (result.sentences()["Tails"], ranking.sentences()["Tails"]):
        assert f"{100 * aim:.0f}" in numerals(told)
        assert f"{100 * gap.share_target:.0f}" not in numerals(told)  # its own share, at its own tau


def test_autocorrelated_draws_count_as_fewer():
    counts = [CornerCount(1000, 0.1, 0.1, joint / 1000, 1e-3, StandardError(1e-3, 99.0, 200.0)) for joint in (0, 20)]
    assert tail_gap(*counts).pvalue == pytest.approx(2.0 * 0.5**4)  # 20 draws worth 4


def test_one_p_value_for_all_corners():
    assert joint_pvalue([0.01, np.nan, 0.5, np.nan]) == pytest.approx(0.02)
    assert joint_pvalue([0.9] * 4) == 1.0
    assert np.isnan(joint_pvalue([np.nan] * 4))
    assert np.isnan(joint_pvalue([]))
    np.testing.assert_allclose(joint_pvalue([np.array([0.01, np.nan]), np.array([0.5, 0.2])]), [0.02, 0.2])


@pytest.mark.slow
@pytest.mark.parametrize("tail", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("chains", [False, True])
def test_size_at_every_level_of_tails(tail, chains):
    """100 pairs of equal samples, taus of both signs, 6 pairs each: the 600 tests do not reject too often."""
    rng = np.random.default_rng(4)
    correlations = np.array([[1, -0.6, 0.1, 0.2], [-0.6, 1, -0.2, -0.1], [0.1, -0.2, 1, 0.7], [0.2, -0.1, 0.7, 1]])
    root, rejected, tested, smallest = np.linalg.cholesky(correlations), 0, 0, 1.0
    for _ in range(40):
        pair = rng.standard_normal((2, 4, 150, 4)) @ root.T
        if chains:
            for t in range(1, 150):
                pair[:, :, t] = 0.6 * pair[:, :, t - 1] + 0.8 * pair[:, :, t]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.DependenceWarning)
            found = cd.pairwise(*(pair if chains else pair.reshape(2, 600, 4)), iid=not chains, tail=tail).rows
        pvalues = found["tails_pvalue"]
        rejected, tested = rejected + int(np.sum(pvalues < 0.05)), tested + int(np.isfinite(pvalues).sum())
        smallest = min(smallest, float(np.nanmin(pvalues)))
    assert tested == 240
    # pairs of one sample depend on each other, so the band is that of 40 runs with all six alike, less what is exact
    assert rejected <= 6 * stats.binom.ppf(0.999, 40, 0.05)
    assert smallest > 1e-5


def test_tails_have_names_and_limits():
    assert [part_name(share) for share in (0.1, 0.05, 0.01, 0.025)] == ["tenth", "twentieth", "hundredth", "2.5%"]
    assert [corner.label for corner in CORNERS.values()] == ["low-low", "high-high", "low-high", "high-low"]
    draws = cd.Gumbel(2.0).sample(50, rng=1)
    for wrong in (0, 0.6, 0.5, -0.1, np.nan, "0.1", None, True):
        for function in (cd.discrepancy, cd.pairwise):
            with pytest.raises(cd.InputError, match=f"^tail .* got {re.escape(repr(wrong))}$"):
                function(draws, cd.Gumbel(2.0), tail=wrong)


@pytest.mark.parametrize("wrong", ["0", "0.6", "x"])
def test_a_wrong_tail_is_wrong_usage(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["check", "draws.csv", "--tail", wrong])
    assert ended.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "--tail" in told
    assert told.endswith(f"got '{wrong}'")


def test_where_the_family_cannot_follow_corners_are_compared_all_the_same():
    """Gumbel has no negative tau: against a known one the corner's own probability counts, between samples the Gaussian's."""
    rng = np.random.default_rng(5)
    draws = cd.Gaussian(-0.3).sample(2000, rng=rng)
    with warned("family-bound"):
        known = cd.discrepancy(draws, cd.Gumbel(1.2), iid=True)
    u, v = cd.pseudo_observations(draws).T
    expected = np.mean((u < 0.1) & (v < 0.1)) / 0.1 - cd.Gumbel(1.2).cdf(0.1, 0.1) / 0.1
    assert known.low_low.value == pytest.approx(expected, abs=0.01)
    with warned("family-bound"):
        sample = cd.discrepancy(draws, cd.Gumbel(1.2).sample(2000, rng=rng), family="gumbel", iid=True)
    assert sample.corners["low_low"].share == pytest.approx(np.mean((u < 0.1) & (v < 0.1)) / 0.1, abs=0.01)
    assert np.isfinite(sample.tails_pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "reference", "tail"), [(600, None, 0.1), (2400, None, 0.05), (600, 10_000, 0.1)], ids=["known", "far out", "uneven"]
)
def test_few_draws_by_chance_are_no_find(n, reference, tail):
    """Six draws are expected in each corner: none or one occurs in one of fifty samples, and used to give p = 1e-6."""
    rng = np.random.default_rng(9)
    pvalues = []
    for _ in range(80):
        target = cd.Gaussian(0.0) if reference is None else rng.standard_normal((reference, 2))
        found = cd.pairwise(rng.standard_normal((n, 2)), target, iid=True, tail=tail, family=None)
        pvalues.append(float(found.rows["tails_pvalue"][0]))
    assert np.sum(np.array(pvalues) < 0.05) <= stats.binom.ppf(0.999, 80, 0.05)
    assert min(pvalues) > 1e-4


def test_sentences_count_the_corners_that_could_be_compared():
    rng = np.random.default_rng(10)
    table = np.column_stack([rng.standard_normal(1000), rng.random(1000) < 0.1])
    with warned("few-values"):
        result = cd.discrepancy(table, cd.Gaussian(0.0), iid=True)
    assert set(result.corners) == {"high_high", "low_high"}
    assert numerals(result.sentences()["Tails"])[0] == "2"


def test_a_share_at_the_same_tau_stays_a_share():
    """A gap is a difference of differences: taken off a small share it would leave less than nothing."""
    assert share_beside(0.078, 0.062, 0.093) == (0.0, True)
    assert share_beside(-0.5, 0.7, 0.3) == (1.0, True)
    assert share_beside(0.03, 0.10, 0.07) == (0.07, False)


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_a_target_that_does_not_reach_the_tau_is_not_said_to_be_at_it():
    draws = cd.Frank(-3.0).sample(2000, rng=1)
    for result in (cd.discrepancy(draws, cd.Gumbel(2.5), iid=True), cd.pairwise(draws, cd.Gumbel(2.5), iid=True)):
        assert "same tau" not in result.sentences()["Tails"]
    reached = cd.discrepancy(cd.Clayton(3.0).sample(2000, rng=1), cd.Gumbel(2.5), iid=True)
    assert "same tau" in reached.sentences()["Tails"]
