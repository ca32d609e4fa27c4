"""What a person reads: is the strength right, is the shape, which tail, how sure, are there enough draws?"""

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd

TARGET = cd.Gumbel(2.5)


def read(draws, target=TARGET, **options):
    result = cd.discrepancy(draws, target, **options)
    return result, result.sentences(), repr(result).splitlines()


def test_all_is_well():
    _, said, lines = read(TARGET.sample(3000, rng=1))
    assert lines[0].endswith("no gap found")
    assert said["Strength"].startswith("no gap found (p = ")
    assert "Kendall's tau is within 0.0" in said["Strength"]
    assert said["Shape"].startswith("no gap found")
    assert "enough for these tests" in said["Draws"]
    assert "halves agree" in said["Draws"]


@pytest.mark.parametrize(
    ("truth", "how", "side"),
    [
        (cd.Gumbel(1.8), "too weak", "below"),
        (cd.Gumbel(3.5), "too strong", "above"),
        (cd.Frank(-6.0), "of the wrong sign", "below"),
    ],
    ids=str,
)
def test_strength(truth, how, side):
    target = TARGET if truth.tau > 0 else cd.Frank.from_tau(0.6)
    _, said, lines = read(truth.sample(2000, rng=2), target)
    assert said["Strength"].startswith(f"{how}. Kendall's tau is")
    assert f"{side} the target's (95% interval" in said["Strength"]
    assert "p < 0.001" in said["Strength"]
    assert lines[0].endswith(": strength off")
    assert said["Shape"].startswith("no gap found")


def test_shape_and_tails_by_name():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["mu", "log_sigma"])
    result, said, lines = read(draws)
    assert lines[0].endswith(": shape off")
    assert said["Shape"].startswith("wrong (p < 0.001). Gumbel fitted to these draws has a tau 0.")
    assert "more draws where mu and log_sigma are both low" in said["Shape"]
    assert "fewer draws where mu and log_sigma are both high" in said["Shape"]
    assert max(map(len, lines)) <= 100
    assert "mu and log_sigma" in result._repr_html_()


def test_negative_dependence_has_its_own_corners():
    truth = cd.Rotated(cd.Gumbel(2.0), 90)
    _, said, _ = read(truth.sample(3000, rng=4), cd.Rotated(cd.Clayton.from_tau(0.5), 90))
    assert "x0 is low and x1 high" in said["Shape"]
    assert "x0 is high and x1 low" in said["Shape"]


def test_both_are_off():
    _, _, lines = read(cd.Clayton(1.0).sample(3000, rng=5))
    assert lines[0].endswith(": strength and shape off")


def test_a_bound_leaves_the_shape_untested():
    with pytest.warns(cd.DependenceWarning, match="bound"):
        _, said, lines = read(cd.Frank(-4.0).sample(500, rng=6))
    assert lines[0].endswith("strength off, shape not tested")
    assert said["Shape"].startswith("cannot be tested: Gumbel was fitted on a bound")
    assert any("note: theta sits on the lower bound" in line for line in lines)


def test_perfect_dependence_says_so():
    x = np.linspace(0.0, 1.0, 300)
    with pytest.warns(cd.DependenceWarning, match="perfectly dependent"):
        _, said, lines = read(np.column_stack([x, x]))
    assert "strength and shape not tested" in lines[0]
    assert said["Strength"].startswith("cannot be tested")
    assert "no standard error can be had" in said["Draws"]


def test_few_draws():
    with pytest.warns(cd.DependenceWarning, match="n_eff is 60"):
        _, said, _ = read(TARGET.sample(60, rng=7), iid=True)
    assert said["Draws"] == "60, taken as independent: too few to trust these tests."


def test_the_table_has_every_gap_with_its_uncertainty():
    result, _, lines = read(TARGET.sample(1000, rng=8), confidence=0.9)
    head = next(line for line in lines if "90% interval" in line)
    for word in ("value", "se", "p", "n_eff"):
        assert word in head.split()
    for name in ("level", "shape", "total", "lower tail", "upper tail", "CKL", "CED"):
        row = next(line for line in lines if line.startswith(f"  {name}"))
        estimate = result.estimates[name.lower().replace(" ", "_")]
        assert f"{estimate.value:.4f}".lstrip("-") in row or f"{estimate.value:.1e}" in row


def test_hostile_names_are_escaped():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(2000, rng=9), columns=["<script>", "b&c"])
    html = cd.discrepancy(draws, TARGET)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
