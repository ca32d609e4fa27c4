"""Tables of every kind through `pairwise` and `DependenceFidelity`: what is found, what is told, and what must not reassure."""

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from tests.caveat_codes import codes_of

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


def mixed(seed, n=1500):
    rng = np.random.default_rng(seed)
    species = rng.choice(["Adelie", "Chinstrap", "Gentoo"], n, p=[0.45, 0.2, 0.35])
    bill = np.select([species == "Gentoo", species == "Chinstrap"], [3.0, 2.0], 0.0) + rng.standard_normal(n)
    island = np.where(rng.random(n) < 0.7, np.where(species == "Gentoo", "Biscoe", "Dream"), "Torgersen")
    age = rng.integers(1, 12, n)
    mass = np.where(rng.random(n) < 0.05 + 0.35 * (age > 8), np.nan, bill + rng.standard_normal(n))
    day = pd.Timestamp("2015-01-01") + pd.to_timedelta((300 * age + rng.integers(0, 300, n)), unit="D")
    return pd.DataFrame(
        {"species": species, "island": island, "bill": bill, "mass": mass, "age": age, "hatched": day, "tagged": bill > 1.5}
    )


def test_an_honest_table_has_no_gap_and_a_lost_column_is_found_in_all_its_pairs():
    honest = cd.pairwise(mixed(1), mixed(2), iid=True)
    assert honest.outcome == "no gap"
    assert {honest.samples[0].kind(k) for k in range(len(honest.names))} == {
        "nominal", "numeric", "date", "boolean", "missing"
    }  # fmt: skip
    broken = mixed(1)
    broken["species"] = np.random.default_rng(3).permutation(broken["species"])
    result = cd.pairwise(broken, mixed(2), iid=True)
    lost = {frozenset(gap.names) for gap in result if gap.flagged}
    assert lost == {frozenset(("species", name)) for name in ("island", "bill", "mass", "tagged")}
    assert all(gap.verdict == "association lost" for gap in result if gap.flagged)
    assert all(abs(gap.kept) < 0.2 for gap in result if gap.flagged)


def test_where_values_are_missing_is_compared():
    shuffled = mixed(1)
    rng = np.random.default_rng(4)
    present = shuffled["mass"].dropna().to_numpy()
    shuffled["mass"] = np.where(rng.random(len(shuffled)) < shuffled["mass"].isna().mean(), np.nan, rng.choice(present, 1500))
    result = cd.pairwise(shuffled, mixed(2), iid=True)
    assert result["age", "mass is missing"].flagged
    assert not any({"mass", "mass is missing"} <= {*gap.names} for gap in result)
    never = mixed(1).fillna({"mass": 0.5})
    assert "missing-in-one" in codes_of(cd.pairwise(never, mixed(2), iid=True))
    told = cd.DependenceFidelity.compute_breakdown(mixed(2), never)
    assert told["pairs"]["age", "mass is missing"]["score"] == 0.0
    assert "mass is missing" in told["pairs"]["age", "mass is missing"]["meaning"]


def money(seed, broken, n=3000):
    rng = np.random.default_rng(seed)
    country = rng.choice(["AT", "CH", "UK"], n)
    currency = pd.Series(country).map({"AT": "EUR", "CH": "CHF", "UK": "GBP"}).to_numpy()
    return pd.DataFrame(
        {"country": country, "currency": np.where((country != "AT") & (rng.random(n) < broken), "EUR", currency)}
    )


@pytest.mark.parametrize("broken", [0.01, 0.02, 0.05, 0.1, 0.3, 0.5])
def test_a_broken_rule_is_a_gap_however_often_it_is_broken(broken):
    """Raked to common shares, both tables would break it: all but the smallest of these were "no gap found"."""
    result = cd.pairwise(money(1, broken), money(2, 0.0), iid=True)
    assert result[0].form_pvalue < 1e-6
    assert cd.pairwise(money(1, 0.0), money(2, 0.0), iid=True).outcome != "gap"


@pytest.mark.parametrize("lost", [0.05, 0.2, 0.5])
def test_a_flag_that_no_longer_implies_another_is_a_gap(lost):
    def flags(seed, share):
        rng = np.random.default_rng(seed)
        first = rng.random(3000) < 0.4
        return pd.DataFrame({"f": first, "g": first & (rng.random(3000) >= share)})

    assert cd.pairwise(flags(1, lost), flags(2, 0.0), iid=True)[0].flagged


def test_labels_that_differ_are_a_reservation_and_lost_dependence():
    renamed = mixed(1)
    renamed["species"] = renamed["species"].str.upper()
    result = cd.pairwise(renamed, mixed(2), iid=True)
    assert "levels-differ" in codes_of(result)
    told = cd.DependenceFidelity.compute_breakdown(mixed(2), renamed)
    assert all(pair["score"] == 0.0 for names, pair in told["pairs"].items() if names == ("species", "bill"))
    assert told["score"] < 0.7


def test_rare_levels_are_pooled_by_their_labels_where_most_rows_are_in_them():
    rng = np.random.default_rng(5)
    means = rng.standard_normal(60)

    def towns(n=1000):
        town = rng.integers(0, 60, n)
        return pd.DataFrame({"town": [f"t{k}" for k in town], "x": 1.5 * means[town] + rng.standard_normal(n)})

    honest = cd.pairwise(towns(), towns(), iid=True)
    assert honest.outcome == "no gap"
    assert "rare-levels" in codes_of(honest)
    lost = towns()
    lost["x"] = rng.permutation(lost["x"])
    assert cd.pairwise(lost, towns(), iid=True)[0].flagged


def test_other_shares_of_flags_are_no_other_strength():
    """Kendall's tau changes with the shares: it differs by far more than its error, and is not what is tested."""
    rng = np.random.default_rng(7)

    def flags(joint, n=4000):
        cell = rng.choice(4, n, p=np.ravel(joint))
        return pd.DataFrame({"a": cell >= 2, "b": cell % 2 == 1})

    even = np.array([[0.35, 0.15], [0.15, 0.35]])
    odds = 0.35**2 / 0.15**2
    rare = 0.05
    # p11 with margins 0.11 and the same odds ratio, by bisection
    low, high = rare * rare, 0.11
    for _ in range(60):
        p = 0.5 * (low + high)
        low, high = (p, high) if p * (1 - 0.22 + p) < odds * (0.11 - p) ** 2 else (low, p)
    uneven = np.array([[1 - 0.22 + p, 0.11 - p], [0.11 - p, p]])
    (gap,) = cd.pairwise(flags(even), flags(uneven), iid=True)
    assert abs(gap.level) > 3.0 * gap.level_se
    assert gap.verdict == "no gap found"
    (lost,) = cd.pairwise(flags(np.full((2, 2), 0.25)), flags(uneven), iid=True)
    assert lost.verdict == "too weak"


def test_levels_show_where_a_pair_differs():
    broken = mixed(1)
    broken["species"] = np.random.default_rng(3).permutation(broken["species"])
    result = cd.pairwise(broken, mixed(2), iid=True)
    gaps = result.levels("species", "bill")
    assert gaps.percentiles
    worst = gaps.differences[0]
    assert abs(worst.value - 50) < 5 < abs(worst.reference - 50)
    assert worst.level in gaps.sentence
    shares = result.levels("species", "island")
    assert not shares.percentiles
    table = shares.to_dataframe()
    row = table[(table["level"] == "Gentoo") & (table["other"] == "Biscoe")].iloc[0]
    real = mixed(2)
    assert row["reference"] == pytest.approx((real["island"][real["species"] == "Gentoo"] == "Biscoe").mean())
    assert shares.to_dict()["names"] == ["species", "island"]
    with pytest.raises(cd.InputError, match="has levels"):
        result.levels("bill", "mass")
    with pytest.raises(cd.InputError, match="no copula describes"):
        result.pair("species", "bill")


def test_without_a_reference_categories_are_left_out_and_told():
    result = cd.pairwise(mixed(1).drop(columns="mass"), None, iid=True)
    assert {"species", "island"} <= set(result.left_out)
    assert "variables-left-out" in codes_of(result)
