"""The study of form: its data and the other tests are what they are called, and its parts run."""

import numpy as np
import pytest
from scipy.optimize import minimize

import copula_discrepancy as cd
from benchmarks import form, form_data, report, rivals

RNG = np.random.default_rng(20)
A, B = (rivals.ranks(form_data.draws(name, (1, 40), 0.0, RNG)) for name in ("banana", "t(3)"))


@pytest.mark.parametrize(
    ("name", "tau"), [("Clayton, tau 0.5", 0.5), ("Gumbel, tau 0.5", 0.5), ("t(3), tau 0.4", 0.4), ("X", 0.0)]
)
def test_shapes_have_their_taus(name, tau):
    draws = form_data.draws(name, (1, 40_000), 0.0, np.random.default_rng(1))[0]
    assert cd.kendall_tau(*draws.T) == pytest.approx(tau, abs=0.025)  # five standard errors, of at most 0.005


def test_chains_have_their_autocorrelation_and_their_margins():
    chains = form_data.normals(2, (4, 20_000), 0.9, np.random.default_rng(2))
    assert chains.var() == pytest.approx(1.0, abs=0.06)  # n_eff of a square is 160,000 / 9.5: five standard errors
    assert np.mean(chains[..., 1:] * chains[..., :-1]) == pytest.approx(0.9, abs=0.06)
    assert np.std(form_data.normals(2000, (2, 3), 0.9, np.random.default_rng(3)), axis=(0, 1)) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_draws_keep_their_share_of_the_coefficients(share):
    rng = np.random.default_rng(4)
    draws, reference = (form_data.draws("funnel", (1, 40_000), 0.0, rng, part) for part in (share, 1.0))
    gap = form.gaps(draws, reference, iid=True).at(0)
    assert gap.own == pytest.approx(share * gap.target, abs=0.05)  # five standard errors of two samples, 0.007 each


def test_the_mean_field_approximation_is_the_best():
    """The evidence lower bound by Gauss-Hermite quadrature has its maximum there."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def loss(point):
        mean, log_s, log_t = point
        v = mean + np.exp(log_s) * nodes
        inside = -0.5 * v**2 / 9.0 - 4.5 * v - 4.5 * np.exp(2.0 * log_t - v)
        return -(weights @ inside / weights.sum() + log_s + 9.0 * log_t)

    best = minimize(loss, [0.3, -0.3, 0.2], method="BFGS").x
    mean, variance, others = form_data.mean_field()
    assert best == pytest.approx([mean, 0.5 * np.log(variance), 0.5 * np.log(others)], abs=1e-4)  # BFGS stops at 1e-5


def test_variational_draws_have_no_dependence_and_exact_ones_do():
    rng = np.random.default_rng(5)
    exact, approximate = (make((1, 20_000), rng)[0] for make in (form_data.neal, form_data.variational))
    assert exact[:, 0].std() == pytest.approx(form_data.HEIGHT, abs=0.08)
    assert np.log(exact[:, 1] ** 2).mean() == pytest.approx(-1.270, abs=0.14)  # of a squared normal; sd 3.7 with v
    assert approximate.var(axis=0) == pytest.approx([form_data.mean_field()[1], *[form_data.mean_field()[2]] * 9], rel=0.05)


# ---- the other tests ------------------------------------------------------------------------------------------------------


def test_statistics_are_what_their_definitions_give():
    n = len(A)
    rows = np.concatenate([A, B]) / n
    apart = np.hypot(*(rows[:, None] - rows).transpose(2, 0, 1))
    own, other = slice(0, n), slice(n, None)

    def difference(kernel):
        return kernel[own, own].mean() + kernel[other, other].mean() - 2.0 * kernel[own, other].mean()

    assert rivals.energy_distance(A, B) == pytest.approx(-difference(apart), rel=1e-4)  # single precision
    assert rivals.mean_discrepancy(A, B) == pytest.approx(difference(np.exp(-0.5 * (apart / 0.5) ** 2)), rel=1e-6)
    points = np.arange(n)
    a, b = (
        np.mean((part[:, 0, None, None] <= points[:, None]) & (part[:, 1, None, None] <= points), axis=0) for part in (A, B)
    )
    assert rivals.cramer_von_mises(A, B) == pytest.approx(np.mean((a - b) ** 2) * n, rel=1e-12)


def test_correlations_are_what_their_definitions_give():
    n = len(A)
    centred = []
    for column in A.T.astype(float):
        apart = np.abs(column[:, None] - column)
        centred.append(apart - apart.mean(axis=0) - apart.mean(axis=1)[:, None] + apart.mean())
    x, y = centred
    assert rivals.distance_correlation(A) == pytest.approx(np.sqrt((x * y).sum() / (x * x).sum()), rel=1e-5)
    steps = [np.abs(np.diff(A[np.argsort(A[:, k]), 1 - k])).sum() for k in range(2)]
    assert rivals.xi(A) == pytest.approx([1.0 - 3.0 * total / (n**2 - 1.0) for total in steps])


def test_permutations_exchange_rows_and_rank_them_again():
    parts = rivals.permuted(A, B, np.random.default_rng(6))
    first, second = next(parts)
    for part in (first, second):
        assert np.sort(part, axis=0).tolist() == [[k, k] for k in range(len(A))]
    assert set(map(tuple, first)) != set(map(tuple, A))
    assert not np.array_equal(next(parts)[0], first)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in rivals.RIVALS if not name.startswith("classifier")])
def test_a_rival_has_its_size_and_its_power(name, monkeypatch):
    """60 runs at 5%: at most 9 rejections (binomial 99.9%); a correlation of 0.8 differs from none in all, n = 100."""
    monkeypatch.setattr(rivals, "PERMUTATIONS", 39)
    test, rng = rivals.RIVALS[name][0], np.random.default_rng(7)

    def rejections(own, other, runs):
        samples = ([rivals.ranks(form_data.draws(part, (1, 100), 0.0, rng)) for part in (own, other)] for _ in range(runs))
        return sum(test(*pair, rng) <= 0.05 for pair in samples)

    assert rejections("Gaussian 0.8", "Gaussian 0.8", 60) <= 9
    assert rejections("Gaussian 0.8", "independence", 5) == 5


def test_a_classifier_finds_what_differs(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(rivals, "PERMUTATIONS", 10)
    rng = np.random.default_rng(8)
    a, b = (rivals.ranks(form_data.draws(name, (1, 200), 0.0, rng)) for name in ("Gaussian 0.8", "independence"))
    for kind in ("trees", "neighbours"):
        assert rivals.classifier_pvalue(kind, a, b, rng) <= 0.05
        assert rivals.classifier_score(kind, a, b, 1) > rivals.classifier_null(kind, 200).max()
    rivals.classifier_null.cache_clear()


def test_a_wild_bootstrap_finds_what_differs():
    rng = np.random.default_rng(9)
    a, b, c = (
        rivals.ranks(form_data.draws(name, (4, 100), 0.5, rng)) for name in ("Gaussian 0.8", "independence", "independence")
    )
    for centred in (False, True):
        assert rivals.wild_pvalue(a, b, 4, rng, centred=centred) <= 0.05
        assert rivals.wild_pvalue(b, c, 4, rng, centred=centred) > 0.05


# ---- the study ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "sizes", "rows"),
    [
        (form.independent, {"sizes": (60,)}, 8),
        (form.chains, {"size": (2, 60)}, 16),
        (form.outside, {"days": 100, "shape": (2, 60)}, 3),
        (form.power, {"n": 60}, 5),
        (form.kept, {"settings": (((1, 200), 0.0),)}, 9),
        (form.wild, {"size": (2, 60)}, 8),
        (form.lost, {"size": (2, 200)}, 4),
        (form.neal, {"size": (2, 100), "d": 3}, 2),
    ],
    ids=["independent", "chains", "outside", "power", "kept", "wild", "lost", "neal"],
)
def test_a_case_gives_a_table_that_can_be_read(case, sizes, rows):
    tables = case(2, 1, **sizes)
    found = list(report.read("\n".join(table.markdown() for table in tables)).values())
    assert [table.rows for table in found] == [table.rows for table in tables]
    assert len(found[0].rows) == rows
    assert not any("|" in cell for row in found[0].rows for cell in row)
    assert all(record.get("met", "-") in ("yes", "no", "-") for record in found[0].records())


def test_rivals_without_their_package_are_left_out(monkeypatch):
    def not_here(a, b, rng):
        raise ImportError("no such module", name="sklearn")

    few = {"MMD": rivals.RIVALS["MMD"], "classifier": (not_here, "simulated")}
    monkeypatch.setattr(rivals, "RIVALS", few)
    monkeypatch.setattr(rivals, "PERMUTATIONS", 19)
    sizes, powers = form.rival_tests(2, 1, n=60)
    assert [row[0] for row in sizes.rows] == ["form", "MMD", "classifier"]
    assert powers.rows[0][0] == "funnel exp(0.15 z) / independence"
    assert len(powers.rows) == len(form.WEAK) + 9
    assert all(record["classifier"] == "-" for record in powers.records())
    assert all(record["largest of the others less form"].startswith("MMD") for record in powers.records())


def test_a_more_powerful_rival_is_told(monkeypatch):
    monkeypatch.setattr(rivals, "RIVALS", {"weak": (None, ""), "strong": (None, "")})
    rejections = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    assert form.best_rival(rejections) == ("strong: 50.0 (se 35.4)", "at most 3", "no")
    assert form.best_rival(rejections[:, [2, 1, 0]]) == ("strong: -50.0 (se 35.4)", "at most 3", "yes")


def test_the_command_writes_what_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(form.CASES, "power", (lambda runs, jobs: form.power(runs, jobs, n=60), 7))
    path = tmp_path / "form.md"
    form.main(["--only", "power", "--runs", "1", "--write", str(path)])
    text = path.read_text(encoding="utf-8")
    assert list(report.read(text)) == ["Power"]
    assert "1 runs" in text
