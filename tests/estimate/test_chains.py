"""Markov chains: size of the tests; chains that disagree, are stuck or diverge."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from benchmarks.inference import ar_chains
from tests.caveat_codes import codes_of
from tests.numerals import numerals, numerals_of, one_line
from tests.refusals import refused

TARGET = cd.Gumbel(2.0)


def modes(*centres, n=400, seed=0):
    """One chain per centre around (centre, centre), deviation 0.3; None is a chain that visits -1.5 and 1.5 at random."""
    rng = np.random.default_rng(seed)
    chains = []
    for centre in centres:
        middle = rng.choice([-1.5, 1.5], size=(n, 1)) if centre is None else centre
        chains.append(middle + 0.3 * rng.standard_normal((n, 2)))
    return np.stack(chains)


def judge(draws, target=TARGET, **options):
    """The result and its warnings, which must be those that were issued."""

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = cd.discrepancy(draws, target, **options)
    assert [str(warning.message) for warning in caught] == list(result.warnings)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("target", [cd.Clayton(3.0), cd.Gumbel.from_tau(0.3)], ids=str)
def test_size_on_chains(target):
    """A fast part of benchmarks/inference.md: 45 runs of 4 x 500 draws, AR(1) coefficient 0.9, binomial 99.9% band at 8%."""
    rng = np.random.default_rng(1)
    aware, naive = np.zeros(3), np.zeros(3)
    for _ in range(45):
        draws = ar_chains(target, 0.9, rng)
        for count, options in ((aware, {}), (naive, {"iid": True})):
            result = judge(draws, target, **options)
            count += [result.estimates[name].pvalue < 0.05 for name in ("level", "shape", "total")]
    assert np.max(aware) <= stats.binom.ppf(0.999, 45, 0.08)
    assert np.min(naive) >= 9  # as if the draws were independent, half of all runs raise a false alarm
    assert naive[0] >= 15


def test_standard_errors_grow_with_autocorrelation():
    rng = np.random.default_rng(2)
    calm, slow = (judge(ar_chains(TARGET, phi, rng)) for phi in (0.0, 0.9))
    assert slow.level.se > 2 * calm.level.se
    assert slow.level.n_eff < 500 < 1500 < calm.level.n_eff
    assert slow.shape.n_eff != slow.level.n_eff


def test_mixing_chains_agree():
    result = judge(modes(None, None, None, None))
    assert result.rhat < 1.01
    assert "chains-disagree" not in codes_of(result)
    for tau in result.agreement.taus:
        assert abs(tau.value - 0.5) < 5 * tau.se


def test_each_chains_interval_stays_within_what_a_tau_can_be():
    result = judge(cd.Gumbel(6.0).sample(40, rng=13).reshape(4, 10, 2), cd.Gumbel(6.0))
    known = [tau for tau in result.agreement.taus if np.isfinite(tau.se)]  # one of the four is perfectly dependent
    assert len(known) == 3
    assert all(-1.0 <= tau.ci[0] < tau.ci[1] == 1.0 for tau in known)


def test_one_stuck_chain_shows():
    result = judge(modes(None, None, 1.5, None))
    assert result.rhat > 1.05
    assert "chains-disagree" in codes_of(result)
    assert f"{result.agreement.taus[2].value:.2f} (se " in result.sentences()["Draws"]
    stuck = result.agreement.taus[2]
    assert abs(stuck.value) < 4 * stuck.se
    assert all(abs(tau.value - 0.5) < 5 * tau.se for k, tau in enumerate(result.agreement.taus) if k != 2)
    assert f"{result.rhat:.3f}" in result.sentences()["Draws"]
    assert result.sentences()["Draws"] in one_line(repr(result))


def test_chains_stuck_in_different_modes_show():
    """Each chain has tau 0, all of them together 0.5: the chains have not mixed although their concordance is the same."""
    result = judge(modes(-1.5, 1.5))
    assert result.tau == pytest.approx(0.5, abs=0.05)
    assert max(abs(tau.value) for tau in result.agreement.taus) < 0.15
    assert result.rhat > 1.1
    assert result.warnings


def test_a_drifting_single_chain_shows():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((2000, 2))
    z[1000:, 1] = 0.3 * z[1000:, 1] + z[1000:, 0]  # dependence begins half-way
    assert judge(z, cd.Gaussian(0.5)).rhat > 1.01
    assert judge(rng.standard_normal((2000, 2)), cd.Gaussian(0.0)).rhat < 1.01


def test_a_chain_that_never_moves_is_named():
    draws = modes(None, None, None)
    draws[1, :, 0] = 7.0
    result = judge(draws)
    assert codes_of(result).count("stuck-chain") == 1
    assert np.isnan(result.agreement.taus[1].value)
    assert np.isfinite(result.level.se)


def test_a_chain_that_stops_is_named_with_its_draw():
    draws = pd.DataFrame(cd.Gumbel(2.0).sample(600, rng=4), columns=["mu", "tau"])
    draws.loc[250:, "tau"] = 0.5
    result = judge(draws)  # a table has rows, and no chain that could have stopped
    chain = judge(cd.as_draws(draws, chains=1))
    for found, place in ((result, "row 250"), (chain, "draw 250")):
        assert place in next(caveat.sentence for caveat in found.caveats if caveat.code == "stuck-chain")
    with pytest.warns(cd.DependenceWarning):  # of ties, but rows without an order cannot stop
        assert "stuck-chain" not in codes_of(cd.pairwise(draws, cd.Gumbel(2.0), iid=True))


@pytest.mark.parametrize(
    ("place", "counted"),
    [  # how many of all draws, in how many chains if in several, the first of them and its chain
        ((2, slice(317, None), 0), ["83", "1600", "317", "2"]),
        ((0, 5, 1), ["1", "1600", "5", "0"]),
        ((1, [3, 9], 1), ["2", "1600", "3", "1"]),
        ((slice(None), 399, 0), ["4", "1600", "4", "399", "0"]),
    ],
)
def test_a_diverged_chain_is_named_with_its_draw(place, counted):
    draws = modes(None, None, None, None)
    draws[place] = np.nan
    with refused("nan") as caught:
        cd.discrepancy(draws, TARGET)
    assert numerals_of(f"x{place[2]}", str(caught.value)) == counted


def test_chains_of_unequal_length():
    chains = list(modes(None, None))
    chains[1] = chains[1][:300]
    with refused("shape") as caught:
        cd.discrepancy(chains, TARGET)
    assert numerals(str(caught.value)) == ["1", "300", "0", "400", "300", "1"]  # chain and length, twice; where to cut
    assert judge(list(modes(None, None)), TARGET).n == 800  # a list of chains of one length is fine


def test_one_chain_is_said_to_be_one():
    draws = cd.Gumbel(2.0).sample(1000, rng=5)
    assert codes_of(judge(draws[None])) == ["one-chain"]
    assert not judge(draws).warnings  # a plain array claims nothing about chains
    assert not judge(draws[None], iid=True).warnings


@pytest.mark.parametrize("shape", [(100, 3, 2), (1, 3, 2), (3, 2)])
def test_too_few_draws_per_chain(shape):
    draws = np.random.default_rng(8).normal(size=shape)
    with refused("too-few-draws") as caught:
        cd.discrepancy(draws, cd.Gaussian(0.1))
    assert numerals(str(caught.value)) == ["4", "3"]
    assert "iid=True" in str(caught.value)
    if len(shape) == 3 and shape[0] > 1:
        assert judge(draws, cd.Gaussian(0.1), iid=True).n == 300
    fitted = cd.fit(draws, "gaussian")
    assert "theta" in repr(fitted)
    assert "estimates" not in fitted.to_dict()
    with refused("too-few-draws") as caught:
        _ = fitted.se
    assert numerals(str(caught.value)) == ["4", "3"]


def test_few_effective_draws_are_said():
    result = judge(ar_chains(TARGET, 0.98, np.random.default_rng(7)))
    assert result.n_eff < 100
    assert "few-effective-draws" in codes_of(result)
    assert numerals(result.sentences()["Draws"])[:2] == ["2,000", f"{result.n_eff:.0f}"]
    assert result.sentences()["Draws"] in one_line(repr(result))


def test_independence_must_be_a_truth_value():
    for bad in ("yes", 1, None):
        for function, second in ((cd.discrepancy, TARGET), (cd.fit, "gumbel")):
            with refused() as caught:
                function(modes(None), second, iid=bad)
            assert str(caught.value).startswith("iid ")
            assert str(caught.value).endswith(f"got {bad!r}")


@pytest.mark.parametrize(("still_from", "told"), [(340, False), (290, True)])
def test_only_long_stands_are_told(still_from, told):
    draws = cd.Gumbel(2.0).sample(600, rng=9)
    draws[still_from:, 0] = 0.5
    assert ("stuck-chain" in codes_of(judge(draws))) == told


def test_swapped_axes_are_asked_about():
    draws = np.random.default_rng(10).standard_normal((300, 4, 2))
    result = judge(draws, cd.Gaussian(0.0))
    assert "swapped-axes" in codes_of(result)
    assert np.isnan(result.rhat)
    assert "R-hat" not in result.sentences()["Draws"]


def test_a_reference_that_has_not_mixed_is_told():
    draws = modes(None, None, None, None, seed=11)
    result = judge(draws, modes(-1.5, 1.5, seed=12), family="gaussian")
    (caveat,) = (caveat for caveat in result.caveats if caveat.code == "chains-disagree")
    assert caveat.sentence.startswith("reference: ")
    assert result.reference_agreement.rhat > 1.1
    assert f"{result.reference_agreement.rhat:.3f}" in result.sentences()["Reference"]


def test_stuck_chains_are_told_even_where_draws_are_taken_as_independent():
    result = judge(modes(None, None, 1.5, None), iid=True)
    assert "chains-disagree" in codes_of(result)


def test_the_limit_of_rhat_is_the_limit_of_the_warning():
    from copula_discrepancy.compare.caveats import Compared, ComparedSample, comparison_caveats
    from copula_discrepancy.compare.rows import empty_rows
    from copula_discrepancy.estimate.rank_table import RankedTable

    given = cd.as_draws(np.random.default_rng(14).normal(size=(4, 100, 2)))
    sides = [ComparedSample(given, RankedTable.of(given), iid=False)]
    for rhat, expected in ((1.0099, []), (float("nan"), []), (1.0111, ["chains-disagree"])):
        rows = empty_rows(1)
        rows["rhat"] = rhat
        found = comparison_caveats(Compared(rows, "pair", str, "mle", {}), sides)
        assert [caveat.code for caveat in found] == expected


def test_nested_lists_and_frames_of_unequal_length():
    long, short = np.zeros((5, 2)).tolist(), np.zeros((4, 2)).tolist()
    for chains in ([long, short], [pd.DataFrame(long), pd.DataFrame(short)]):
        with refused("shape") as caught:
            cd.discrepancy(chains, TARGET)
        assert numerals(str(caught.value))[:4] == ["1", "4", "0", "5"]


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # that no chain moves
def test_chains_of_one_draw_cannot_be_compared():
    """Independent draws with a chain column that is different in every row: chains of one draw."""
    draws = cd.Gumbel(2.0).sample(30, rng=1).reshape(30, 1, 2)
    result = cd.discrepancy(draws, cd.Gumbel(2.0), iid=True)
    assert np.isnan(result.agreement.rhat)
    assert result.level.se > 0
