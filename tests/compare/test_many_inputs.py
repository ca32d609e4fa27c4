"""What people hand to `pairwise` and its neighbours: labels, discrete columns, stuck variables, threads."""

import re
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare import jobs
from copula_discrepancy.estimate.form_target import copula_coefficients
from tests import loaded
from tests.caveat_codes import codes_of, warned
from tests.compare.misuse import refused_naming
from tests.compare.verdicts import TOO_STRONG, TOO_WEAK, WRONG_SIGN, faults
from tests.refusals import refused

quietly = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


def normal(seed, n=300, names="abc"):
    return pd.DataFrame(np.random.default_rng(seed).standard_normal((n, len(names))), columns=list(names))


@quietly
def test_shape_is_not_tested_where_a_variable_takes_few_values():
    """Without the limit, equal binary samples were called different in 45% of all pairs."""
    rng = np.random.default_rng(1)
    with warned("few-values"):
        result = cd.pairwise(
            np.column_stack([rng.random((400, 2)) < 0.2, rng.standard_normal(400)]),
            np.column_stack([rng.random((400, 2)) < 0.2, rng.standard_normal(400)]),
            iid=True,
        )
    for name in ("shape", "shape_se", "shape_pvalue", "total", "ckl"):
        assert np.isnan(result.rows[name]).all(), name
    assert np.isfinite(result.rows["level_pvalue"]).all()
    lost = np.column_stack([rng.random(400) < 0.5, rng.random(400)])
    kept = np.column_stack([lost[:, 1] < 0.5, lost[:, 1]])
    assert cd.pairwise(lost, kept, iid=True).worst.verdict == TOO_WEAK


@quietly
def test_counts_keep_the_level_of_form():
    """Poisson(2): 240 tests at 5%; 99.9% band of the binomial 1.7 to 10.4%, tests of one run being dependent a little wider."""
    pvalues = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pvalues.append(
            cd.pairwise(rng.poisson(2.0, (300, 4)), rng.poisson(2.0, (300, 4)), iid=True, n_jobs=1).rows["form_pvalue"]
        )
    assert 0.01 <= np.mean(np.concatenate(pvalues) < 0.05) <= 0.11


@quietly
def test_a_variable_stuck_in_the_draws_is_told_and_fails_the_gate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reference = normal(1)
    reference["c"] += reference["a"]
    draws = normal(2).assign(c=0.0)
    result = cd.pairwise(draws, reference, iid=True)
    assert result.stuck == ("c",)
    assert codes_of(result) == ["constant-in-draws"]
    assert result.outcome == "gap"
    assert "(c)" in result.verdict
    assert " c " in result.sentences()["Answer"]
    assert "stuck" not in repr(result)  # a word for chains
    chains = cd.pairwise(*(np.stack(np.split(frame.to_numpy(), 2)) for frame in (draws, reference)))
    assert chains.stuck == ("x2",)
    assert "stuck (x2)" in chains.verdict
    assert result.to_dict()["stuck"] == ["c"]
    draws.to_csv("draws.csv", index=False)
    reference.to_csv("reference.csv", index=False)
    assert main(["compare", "draws.csv", "reference.csv", "--iid", "--fail-above", "0.5"]) == 3
    assert "c" in re.findall(r"\w+", capsys.readouterr().err)
    assert cd.pairwise(draws, reference.assign(c=1.0), iid=True).stuck == ()


def test_a_constant_synthetic_column_has_lost_its_dependence():
    real = normal(3)
    real["b"] += real["a"]
    synthetic = normal(4).assign(a=0.0)
    told = cd.DependenceFidelity.compute_breakdown(real, synthetic)
    assert told["score"] < 0.1
    assert told["pairs"]["a", "b"]["score"] == 0.0
    assert told["pairs"]["a", "b"]["tau_real"] == pytest.approx(cd.kendall_tau(real["a"], real["b"]))
    assert any("constant" in sentence for sentence in told["warnings"])


def test_names_come_before_positions():
    frame = pd.DataFrame(np.random.default_rng(5).standard_normal((200, 3)), columns=[1, 2, 3])
    assert cd.pairwise(frame, {(1, 2): cd.Gaussian(0.5)}, iid=True).worst.names == ("1", "2")
    assert cd.pairwise(frame, {(3, 1): cd.Gaussian(0.5)}, iid=True).worst.names == ("1", "3")
    with refused_naming("unknown-name", "'0'"):
        cd.pairwise(frame, {(0, 1): cd.Gaussian(0.5)}, iid=True)
    assert cd.pairwise(frame.to_numpy(), {(0, 2): cd.Gaussian(0.5)}, iid=True).worst.names == ("x0", "x2")


def test_a_correlation_matrix_is_one_however_it_is_labelled():
    draws = normal(6, names="abcd")
    draws["b"] += draws["a"]
    matrix = draws.corr()
    plain = cd.pairwise(draws, matrix.to_numpy(), iid=True)
    shuffled = list("dbca")
    for given in (
        matrix,
        matrix.loc[shuffled],
        matrix.loc[shuffled, shuffled],
        matrix.reset_index(drop=True),
        pl.DataFrame(matrix),
    ):
        result = cd.pairwise(draws, given, iid=True)
        assert result.kind == "correlations"
        np.testing.assert_allclose(result.matrix("tau_target"), plain.matrix("tau_target"), rtol=1e-12)
    with refused_naming("nan", 2):
        cd.pairwise(draws, matrix.mask(matrix.round(6) == matrix.loc["a", "b"].round(6)), iid=True)


def test_weights_follow_their_labels():
    draws, reference = normal(7), normal(8)
    weights = pd.DataFrame(0.0, index=list("abc"), columns=list("abc"))
    weights.loc["a", "b"] = weights.loc["b", "a"] = 1.0
    first = cd.pairwise(draws, reference, weights=weights, iid=True)
    again = cd.pairwise(draws, reference, weights=weights.loc[list("cba"), list("bca")], iid=True)
    assert first.weighted == again.weighted == pytest.approx(first["a", "b"].cd)
    for wrong, code, named in (
        (np.triu(np.ones((3, 3))), "argument", "symmetric"),
        ({("a", "b"): 1.0, ("b", "a"): 2.0}, "argument", "'b', 'a'"),
        (weights.rename(columns={"a": "z"}, index={"a": "z"}), "names-differ", "z"),
    ):
        with refused_naming(code, "weights", named):
            cd.pairwise(draws, reference, weights=wrong, iid=True)


def test_threads_leave_warnings_as_they_were():
    draws, reference = normal(9, 100).to_numpy(), normal(10, 100).to_numpy()
    before = list(warnings.filters)
    work = [
        threading.Thread(target=lambda: [cd.pairwise(draws, reference, iid=True, n_jobs=1) for _ in range(5)]) for _ in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert list(warnings.filters) == before


@quietly
def test_threads_give_every_pair_one_row(monkeypatch):
    """190 pairs in six tasks, again and again: a shared empty row, repeated in two threads at once, gave rows of garbage."""
    monkeypatch.setattr(jobs, "_PART", 32)
    draws, reference = (normal(seed, 60, [f"v{k}" for k in range(20)]) for seed in (19, 20))
    single = cd.pairwise(draws, reference, family="gaussian", iid=True, n_jobs=1)  # rows are made alike whatever the family
    for _ in range(10):
        several = cd.pairwise(draws, reference, family="gaussian", iid=True, n_jobs=4)
        assert len(several) == 190
        np.testing.assert_array_equal(several.rows["tau"], single.rows["tau"])


@quietly
def test_errors_say_which_side():
    bad = normal(11).to_numpy().copy()
    bad[3, 1] = np.nan
    with refused("nan") as caught:
        cd.pairwise(normal(12).to_numpy(), bad)
    assert str(caught.value).startswith("reference: ")
    with refused("nan") as own:
        cd.pairwise(bad, normal(12).to_numpy())
    assert str(caught.value) == f"reference: {own.value}"
    assert " x1 " in str(own.value)


def test_summary_keeps_every_row_whatever_variables_are_called():
    table = cd.summary(
        {name: np.random.default_rng(k).standard_normal(50) for k, name in enumerate(("a", "b", "a ~ b", "b ~ c", "c"))}
    )
    assert len(table) == 10


def test_signs_are_wrong_only_where_there_are_two():
    made_up = [
        cd.pairwise(cd.Gaussian(0.8).sample(500, rng=seed), normal(seed, 500, "ab").to_numpy(), iid=True).worst.verdict
        for seed in range(6)
    ]
    assert {faults(verdict)[0] for verdict in made_up} == {TOO_STRONG}
    x = np.random.default_rng(1).standard_normal(300)
    with warned("family-bound"):
        assert cd.pairwise(np.column_stack([x, -x]), cd.Gumbel(2.0), iid=True).worst.verdict == WRONG_SIGN


@quietly
def test_small_samples_of_many_variables_are_quick():
    """The bias of so few draws comes from a table too: 435 pairs of 20 draws need far fewer quadratures than pairs."""
    import copula_discrepancy.estimate.family_curves as tabulated

    calls = []
    original = tabulated.rank_bias
    try:
        tabulated.rank_bias = lambda *given: calls.append(given) or original(*given)
        cd.pairwise(
            normal(14, 20, [f"v{k}" for k in range(30)]), normal(15, 20, [f"v{k}" for k in range(30)]), iid=True, n_jobs=1
        )
    finally:
        tabulated.rank_bias = original
    assert len(calls) < 200  # of 870 fits


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--confidence", "2"), "confidence"),
        (("--family", "gumbell"), "gumbel"),
        (("--delimiter", "ab"), "delimiter"),
        (("--chains", "0"), "chains"),
        (("--chains", "-2"), "chains"),
        (("--filter", "regex", "--columns", "("), "--columns"),
        (("--filter", "like"), "--columns"),
        (("--method", "moment"), "--method moment"),
    ],
)
def test_wrong_choices_are_wrong_usage(tmp_path, capsys, arguments, named):
    path = tmp_path / "draws.csv"
    normal(16).to_csv(path, index=False)
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), *arguments])
    assert end.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]  # below the usage, which names every option
    assert named in told


def test_a_dimension_named_twice_keeps_both_labels(tmp_path, monkeypatch, capsys):
    import json

    from arviz_base import load_arviz_data

    monkeypatch.chdir(tmp_path)
    load_arviz_data("centered_eight").to_netcdf("draws.nc", engine="h5netcdf")
    coords = ["--coords", "school=Choate", "--coords", "school=Deerfield"]
    assert main(["check", "draws.nc", "--columns", "theta", *coords, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["theta[Choate]", "theta[Deerfield]"]


def test_a_file_given_twice_is_no_second_chain(tmp_path):
    path = tmp_path / "chain.csv"
    normal(17).to_csv(path, index=False)
    with refused_naming("file", "chain.csv"):
        cd.as_draws([path, tmp_path / "." / "chain.csv"])


def test_names_beyond_the_terminals_alphabet(tmp_path):
    path = tmp_path / "draws.csv"
    normal(18, 50).rename(columns={"a": "\u00f6"}).to_csv(path, index=False)
    # one process for all forms: most of its time goes into its start
    script = (
        "import sys; from copula_discrepancy.cli.parser import main\n"
        "sys.stdout.reconfigure(encoding='ascii')\n"
        "sys.stderr.reconfigure(encoding='ascii', errors='backslashreplace')\n"
        "print([main(['check', sys.argv[1], '--iid', *form]) for form in ([], ['--json'], ['--csv'])])"
    )
    run = loaded.run(script, path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.isascii()
    assert run.stdout.splitlines()[-1] == "[0, 0, 0]"
    assert run.stderr == ""


@quietly
def test_few_draws_are_perfectly_dependent_by_chance():
    """4 draws of a Gaussian copula with tau 0.49 have |tau| = 1 in a fifth of all samples: that is no find."""
    truth = cd.Gaussian(0.7)
    reference, ladder = truth.sample(5000, rng=1), np.arange(4.0)[:, None] * [1, 1]
    found = cd.pairwise(ladder, reference, iid=True).worst
    assert found.level_pvalue > 0.3
    assert not found.flagged
    assert cd.pairwise(reference, ladder, iid=True).worst.level_pvalue > 0.3
    assert cd.pairwise(ladder, ladder * [1, -1], iid=True).worst.level_pvalue > 0.05
    many = np.arange(200.0)[:, None] * [1, 1]
    assert cd.pairwise(many, reference, iid=True).worst.level_pvalue < 1e-6
    assert cd.pairwise(many, many * [1, -1], iid=True).worst.verdict == WRONG_SIGN


@quietly
def test_a_variable_stuck_against_a_known_target_fails_the_gate(tmp_path, capsys):
    draws = normal(21).assign(c=1.0)
    for target in (cd.Gaussian(0.0), np.eye(3), {("a", "c"): cd.Gaussian(0.0), ("a", "b"): cd.Gaussian(0.0)}):
        assert cd.pairwise(draws, target, iid=True).stuck == ("c",)
    assert cd.pairwise(draws, iid=True).stuck == ()  # without a target a fixed parameter may be meant
    path = tmp_path / "draws.csv"
    draws.to_csv(path, index=False)
    assert main(["check", str(path), "--family", "gaussian", "--theta", "0", "--iid", "--fail-above", "0.9"]) == 3


@quietly
def test_a_gate_with_nothing_to_judge_does_not_pass(tmp_path, capsys):
    path = tmp_path / "draws.csv"
    (normal(22)[["a", "b"]] > 0).astype(int).to_csv(path, index=False)
    assert main(["check", str(path), "--iid", "--fail-above", "0.05"]) == 4


def test_the_gate_sees_shape_and_the_adjustment(tmp_path, capsys):
    import json

    path = tmp_path / "draws.csv"
    draws = cd.Clayton(3.0).sample(3000, rng=1)
    pd.DataFrame(draws).to_csv(path, index=False)
    row = cd.pairwise(draws, cd.Gumbel(2.5), iid=True).worst
    assert abs(row.shape) > abs(row.level) + 0.02
    command = ["check", str(path), "--family", "gumbel", "--theta", "2.5", "--iid", "--chains", "1"]
    # level is within the limit and total may be; shape alone is not
    limit = str(0.5 * (max(abs(row.level), abs(row.total)) + abs(row.shape))) if abs(row.shape) > abs(row.total) else "0.05"
    assert main([*command, "--fail-above", limit]) == 3
    capsys.readouterr()
    adjusted = {}
    for method in ("bonferroni", "none"):
        assert main([*command, "--adjust", method, "--json"]) == 0
        adjusted[method] = json.loads(capsys.readouterr().out)["pairs"][0]["level_adjusted"]
    assert adjusted["bonferroni"] == pytest.approx(min(2 * adjusted["none"], 1.0))


def test_fidelity_of_unnamed_and_of_two_columns():
    real = normal(23)
    real["b"] += real["a"]
    synthetic = normal(24).assign(a=0.0)
    named = cd.DependenceFidelity.compute(real, synthetic)
    assert cd.DependenceFidelity.compute(real.to_numpy(), synthetic) == named < 0.2
    assert cd.DependenceFidelity.compute(real[["a", "b"]], synthetic[["a", "b"]]) == 0.0


def test_the_stronger_tau_is_the_yardstick_of_a_pair():
    """A tau of 0.1 that became 0.4 keeps what the smaller coefficients are of the larger, not several times that."""
    weak, strong = (pd.DataFrame(cd.Gaussian.from_tau(tau).sample(20_000, rng=1), columns=["a", "b"]) for tau in (0.1, 0.4))
    a, b = (copula_coefficients(cd.Gaussian.from_tau(tau), 4) for tau in (0.1, 0.4))
    assert cd.DependenceFidelity.compute(weak, strong) == pytest.approx(float(a @ b / (b @ b)), abs=0.03)


@quietly
def test_aggregates_leave_no_pair_out_but_unknown_ones():
    rng = np.random.default_rng(25)
    x = rng.standard_normal(300)
    draws = np.column_stack([x, x, rng.random(300) < 0.5])
    reference = np.column_stack([x, rng.standard_normal(300), x > 0])
    result = cd.pairwise(draws, reference, iid=True)
    assert result.aggregate("ckl")["max"] == np.inf
    assert result["x0", "x2"].cd == abs(result["x0", "x2"].level)  # a binary column has no shape, but a strength
    assert result.max == max(pair.cd for pair in result)
    alone = cd.pairwise(normal(26), iid=True)
    assert alone.worst.cd == alone.cd[0] == abs(alone.worst.shape)


def test_weights_may_name_what_is_constant():
    draws, reference = normal(27).assign(k=1.0), normal(28).assign(k=1.0)
    with pytest.warns(cd.DependenceWarning):
        result = cd.pairwise(draws, reference, weights=np.ones((4, 4)), iid=True)
    assert result.weighted == pytest.approx(result.mean)


def test_matching_by_order_is_told():
    assert len(cd.pairwise(normal(29), normal(30).to_numpy(), iid=True).notes) == 1
    assert cd.pairwise(normal(29), normal(30), iid=True).notes == ()


@quietly
@pytest.mark.parametrize("names", ["b_log__", ["b_log__"]])
def test_a_name_to_exclude_may_be_one_of_the_draws_alone(names):
    """As unconstrained values are, which some samplers keep and others do not."""
    rng = np.random.default_rng(8)
    draws, reference = ({name: rng.normal(size=(4, 100)) for name in ("a", "b")} for _ in range(2))
    more = draws | {"b_log__": np.log(np.abs(draws["b"]))}
    found, plain = cd.pairwise(more, reference, exclude=names), cd.pairwise(draws, reference)
    assert np.array_equal(found.rows["level"], plain.rows["level"])
    watched = cd.watch(iter([more]), reference, exclude=names, progress=False)
    assert np.array_equal(watched.result.rows["level"], plain.rows["level"])
    for wrong in (more, draws):
        with refused("unknown-name"):
            cd.pairwise(wrong, reference, exclude="nowhere")


@quietly
@pytest.mark.parametrize("names", ["x", ["x"], {"x"}])
def test_names_to_exclude_of_the_draws_alone_in_counted_tables(names):
    rng = np.random.default_rng(8)
    draws, reference = (pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"]) for _ in range(2))
    more = draws.assign(x=1.5 * rng.normal(size=2000))
    plain = cd.pairwise(draws, reference, iid=True, engine="counted")
    for other in (reference, cd.DependenceSketch.of(reference, iid=True)):
        found = cd.pairwise(more, other, iid=True, engine="counted", exclude=names)
        assert found.rows["level"] == pytest.approx(plain.rows["level"], abs=0.01)
    assert np.array_equal(cd.pairwise(more, reference, iid=True, exclude=names).names, ["a", "b"])
