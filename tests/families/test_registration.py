"""A user's own family: by name everywhere, and refused where it is not one."""

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

import copula_discrepancy as cd
from copula_discrepancy.families import Archimedean, Parameter, catalogue
from copula_discrepancy.families.numerics import log1mexp
from copula_discrepancy.families.quadrature import unit_nodes
from copula_discrepancy.families.validation import failed_checks
from tests.conformance import failures
from tests.refusals import refused

# some pairs are less dependent than any member of the family
careful = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


@dataclass(frozen=True)
class Nelsen12(Archimedean):
    """Family 4.2.12 of Nelsen (2006), generator (1/t - 1)^theta; the longest name that there may be."""

    name = "Nelsen_12_with_a_very_long_na"
    parameter = Parameter("theta", 1.0, np.inf, True)

    def _log_generator(self, theta, x):
        return theta * (x + log1mexp(x))

    def _inverse_log_generator(self, theta, level):
        return np.logaddexp(0.0, level / theta)

    def _log_slope(self, theta, x):
        return np.log(theta) + (theta - 1.0) * (x + log1mexp(x)) + 2.0 * x

    def _log_curvature(self, theta, x):
        return np.log(theta) + (theta - 2.0) * (x + log1mexp(x)) + 4.0 * x + np.log(theta - 1.0 - 2.0 * np.expm1(-x))

    def _tau(self, theta):
        return 1.0 - 2.0 / (3.0 * theta)

    @property
    def tail(self):
        return 2.0 ** (-1.0 / self.theta), 2.0 - 2.0 ** (1.0 / self.theta)


NAME = Nelsen12.name


@pytest.fixture(autouse=True)
def names(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(catalogue, "BY_NAME", dict(catalogue.BY_NAME))


@pytest.fixture
def registered():
    assert cd.register(Nelsen12) is Nelsen12
    return Nelsen12


@pytest.fixture(scope="module")
def samples():
    """Three variables, the first two through the family; the second of two samples is a little stronger."""
    rng = np.random.default_rng(3)
    found = []
    for tau in (0.5, 0.56):
        pair = Nelsen12.from_tau(tau).sample(600, rng=rng)
        found.append(np.column_stack([pair, 0.5 * pair[:, 0] + rng.uniform(size=600)]).reshape(2, 300, 3))
    return found


def test_the_example_is_a_copula():
    assert failures(Nelsen12(1.2)) == []


def test_a_registered_family_has_a_name(registered):
    assert cd.family(NAME) is cd.family(NAME.upper()) is cd.family("nelsen12withaverylongna") is registered
    assert cd.family(f"{NAME}180")(2.0) == cd.Rotated(registered(2.0), 180)
    assert cd.family(f"{NAME}_90").from_tau(-0.5).tau == pytest.approx(-0.5)


@pytest.mark.parametrize("rotation", ["", "180"])
def test_fits_and_gaps_by_name_are_those_by_class(registered, samples, rotation):
    cls = cd.Rotated.family(registered, 180) if rotation else registered
    draws, reference = (sample[..., :2] for sample in samples)
    by_name, by_class = (cd.fit(draws, choice) for choice in (NAME + rotation, cls))
    assert by_name.theta == by_class.theta
    assert by_name.family == NAME + rotation
    named, classy = (cd.discrepancy(draws, reference, family=choice) for choice in (NAME + rotation, cls))
    assert (named.level, named.shape, named.ckl) == (classy.level, classy.shape, classy.ckl)
    assert NAME + rotation in json.dumps(named.to_dict())


@careful
@pytest.mark.parametrize("rotation", ["", "180"])
def test_pairwise_by_name(registered, samples, rotation):
    """Rows have the whole name, and the numbers of `discrepancy`."""
    name = NAME + rotation
    result = cd.pairwise(*samples, family=name)
    assert {gap.family for gap in result} == {name}
    one = cd.discrepancy(*(sample[..., :2] for sample in samples), family=name)
    row = next(gap for gap in result if set(gap.names) == {"x0", "x1"})
    assert row.numbers["level"] == pytest.approx(one.level.value, abs=1e-12)
    assert row.numbers["shape"] == pytest.approx(one.shape.value, abs=1e-9)
    json.dumps(result.to_dict())


def test_worker_processes_take_a_class_of_the_main_program(tmp_path):
    """More pairs than one task has, in two processes: these receive the class, which no module has, and not its name."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import joblib, numpy as np\n"
        "import copula_discrepancy as cd\n"
        "@cd.register\n"
        "class Mine(cd.Clayton):\n"
        "    name = 'Mine'\n"
        "if __name__ == '__main__':\n"
        "    x = np.random.default_rng(1).standard_normal((300, 10)).cumsum(axis=1)\n"
        "    with joblib.parallel_config('loky', n_jobs=2):\n"
        "        there = cd.pairwise(x, x[::-1] + 0.1, family='mine180', iid=True)\n"
        "    here = cd.pairwise(x, x[::-1] + 0.1, family='clayton180', iid=True)\n"
        "    assert len(there.rows) == 45 and set(there.rows['family']) == {'Mine180'}\n"
        "    assert all(np.array_equal(there.rows[k], here.rows[k], equal_nan=True) for k in ('shape', 'total', 'ckl'))\n",
        encoding="utf-8",
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=300)


@careful
def test_a_page_by_name(registered, samples, tmp_path):
    cd.pairwise(*samples, family=NAME).to_html(tmp_path / "page.html")
    assert NAME in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_automatic_selection_is_the_same_whatever_is_registered(samples):
    draws, reference = samples
    before = cd.select_family(draws[..., :2]), cd.pairwise(draws, reference)
    cd.register(Nelsen12)
    after = cd.select_family(draws[..., :2]), cd.pairwise(draws, reference)
    assert before[0].aic == after[0].aic
    assert list(before[1].rows["family"]) == list(after[1].rows["family"])
    assert Nelsen12 not in cd.FAMILIES


def test_registering_again(registered):
    assert cd.register(registered) is registered
    assert all(cd.register(cls) is cls for cls in cd.FAMILIES)
    again = type("Nelsen12", (Nelsen12,), {"__module__": __name__, "__qualname__": "Nelsen12"})  # a notebook's cell, run again
    assert cd.register(again) is again is cd.family(NAME)


def made(name, base=cd.Clayton, **members):
    return type("Made", (base,), {"name": name, "__module__": "elsewhere", **members})


@pytest.mark.parametrize(
    "wrong",
    [
        "clayton", None, cd.Clayton(2.0), int, cd.Copula, Archimedean, cd.Rotated, cd.Rotated.family(cd.Clayton, 90),
        made(""), made("two words"), made("mine-2"), made("1st"), made("mine90"), made("Mine_180"), made("x270"), made("auto"),
        made("_"), made(None), made("x" * 30), made("GUMBEL"), made("student_t"), made("Clayton"), made(NAME),
        made("mine", Archimedean), made("mine", parameter=None), made("mine", fixed_parameters=("delta",)),
        made("mine", cd.StudentT),
    ],
)  # fmt: skip
def test_what_is_no_family_is_refused(registered, wrong):
    before = dict(catalogue.BY_NAME)
    with pytest.raises(cd.InputError) as caught:
        cd.register(wrong)
    assert caught.value.code == "argument"
    assert before == catalogue.BY_NAME


def test_two_classes_of_one_function_are_two_classes():
    def another():
        class Local(cd.Clayton):
            name = "Local"

        return Local

    first = cd.register(another())
    with pytest.raises(cd.InputError):
        cd.register(another())
    assert cd.family("local") is first


def test_an_unknown_name_lists_those_there_are(registered):
    with pytest.raises(cd.InputError, match="nelsen12withaverylongna") as caught:
        cd.family("nelsen13")
    assert caught.value.code == "unknown-name"


def wrong(**members):
    return made("wrong", Nelsen12, **members)


def upwards(function):
    return lambda self, theta, x, y: tuple(part + 1e-3 for part in function(self, theta, x, y))


WRONG = {
    "density_is_conditional_slope": {"_logpdf": lambda self, theta, x, y: Nelsen12._logpdf(self, theta, x, y) + 0.02 * (x - 1)},
    "conditional_is_cdf_slope": {"_cdf": lambda self, theta, x, y: Nelsen12._cdf(self, theta, x, y) ** 1.001},
    "conditional_inverse": {"_conditional_inverse": lambda self, theta, p, v, vc: (p, 1.0 - p)},
    "exchangeable_or_turned": {"_logpdf": lambda self, theta, x, y: Nelsen12._logpdf(self, theta, x, y) + 1e-6 * (x - y)},
    "tau_is_integral": {"_tau": lambda self, theta: 1.0 - 1.0 / theta},
    "tau_round_trip": {"_theta_from_tau": lambda self, tau: 1.0 / (1.0 - tau)},
    "tau_increases": {"_tau": lambda self, theta: 0.5},
    "score_is_slope": {"_theta_derivatives": upwards(Archimedean._theta_derivatives)},
    "likelihood_sums_are_sums": {"_likelihood_sums": lambda self, theta, *prepared: (0.0, 0.0, 0.0)},
    "uniform_margins": {"_conditional": lambda self, theta, x, y: (np.exp(-2.0 * x), -np.expm1(-2.0 * x))},
}


@pytest.mark.parametrize("check", WRONG)
def test_wrong_formulas_are_refused(check):
    cls = wrong(**WRONG[check])
    with pytest.raises(cd.InputError, match=check):
        cd.register(cls)
    with refused("unknown-name"):
        cd.family("wrong")
    assert cd.register(cls, check=False) is cd.family("wrong")


@pytest.mark.parametrize("cls", cd.FAMILIES, ids=lambda cls: cls.name)
def test_the_families_of_the_library_pass(cls):
    assert failed_checks(catalogue.resolve_family(cls)[0]) == []


def test_a_family_between_two_finite_bounds_has_a_template():
    narrow = made("Narrow", parameter=Parameter("theta", 0.0, 0.8, True))
    assert cd.register(narrow, check=False)._template().theta == 0.4


@dataclass(frozen=True)
class FarlieGumbelMorgenstern(cd.Copula):
    """C = u v (1 + theta (1-u)(1-v)), -1 <= theta < 1, from the public base class alone; tau = 2 theta/9."""

    theta: float

    name = "FGM"
    parameter = Parameter("theta", -1.0, 1.0, True)

    def _margin(self, u, uc):
        return np.log(u) - np.log(uc)

    def _unmargin(self, x):
        return expit(x), expit(-x)

    def _logpdf(self, theta, x, y):
        return np.log1p(theta * np.tanh(0.5 * x) * np.tanh(0.5 * y))  # tanh(x/2) = 2u - 1

    def _cdf(self, theta, x, y):
        return expit(x) * expit(y) * (1.0 + theta * expit(-x) * expit(-y))

    def _conditional(self, theta, x, y):
        turn = -theta * expit(x) * expit(-x) * np.tanh(0.5 * y)
        return expit(x) + turn, expit(-x) - turn

    def _tau(self, theta):
        return 2.0 * theta / 9.0

    def _tau_at(self, end):
        return 2.0 / 9.0 if end == "upper" else -2.0 / 9.0

    def _nodes(self, theta, level):
        p, complement, weight = unit_nodes(level)
        x, y = np.broadcast_arrays(self._margin(p, complement)[:, None, None], self._margin(p, complement)[None, None, :])
        return x, y, weight[:, None, None] * weight * np.exp(self._logpdf(theta, x, y))

    @property
    def tail(self):
        return 0.0, 0.0


def test_a_family_of_no_known_kind():
    """What the base class asks for is enough: the suite passes, and the name works in fits and gaps, turned as well."""
    cd.register(FarlieGumbelMorgenstern)
    assert failures(FarlieGumbelMorgenstern(0.6)) == []
    with pytest.raises(cd.InputError):
        FarlieGumbelMorgenstern(1.5)
    draws = FarlieGumbelMorgenstern(0.6).sample(2000, rng=1)
    found = cd.fit(draws, "fgm", iid=True)
    assert abs(found.theta - 0.6) < 4.0 * found.se
    turned = cd.fit(np.column_stack([1.0 - draws[:, 0], draws[:, 1]]), "fgm90", iid=True)
    assert turned.theta == pytest.approx(found.theta, rel=1e-6)
    assert cd.discrepancy(draws, FarlieGumbelMorgenstern(0.6), iid=True).level.pvalue > 1e-3


class Limited(Nelsen12):
    """tau stays below 1/2, and `_tau_at` does not say so."""

    name = "Limited"

    def _tau(self, theta):
        return 0.5 - 1.0 / (3.0 * theta)


class Downwards(Nelsen12):
    """tau stays above -1/2 without a lower bound of theta."""

    name = "Downwards"
    parameter = Parameter("theta", -np.inf, np.inf, False)

    def _tau(self, theta):
        return theta / (2.0 * (1.0 + abs(theta)))


@pytest.mark.parametrize(("family", "reached", "beyond"), [(Limited, 0.4, 0.8), (Downwards, -0.4, -0.8)])
def test_a_tau_that_no_theta_has_is_refused(family, reached, beyond):
    """A tau inside the range that the class claims, which its formula never reaches."""
    assert family.from_tau(reached).tau == pytest.approx(reached, abs=1e-12)
    with refused("argument") as caught:
        family.from_tau(beyond)
    assert all(word in str(caught.value) for word in (family.name, f"{beyond:g}", "_tau_at"))


class Raises(cd.Clayton):
    name = "Raises"

    def _tau(self, theta):
        raise ValueError("boom")


class Nothing(cd.Clayton):
    name = "Nothing"

    def _tau(self, theta):
        return None


class Scalar(cd.Clayton):
    name = "Scalar"

    def _logpdf(self, *given):
        return np.nan


class Unmade(cd.Clayton):
    name = "Unmade"

    def __init__(self, a, b):
        pass


class SteepTau(cd.Clayton):
    name = "SteepTau"

    def _tau_slope(self, theta):
        return 7.0


class WrongTail(cd.Clayton):
    name = "WrongTail"
    tail = (0.0, 1.9)


class WrongInformation(cd.Clayton):
    name = "WrongInformation"

    def _mutual_information(self, theta):
        return -3.0


@pytest.mark.parametrize("wrong", [Raises, Nothing, Scalar, Unmade, SteepTau, WrongTail, WrongInformation])
def test_a_family_whose_methods_fail_is_refused_by_one_error(wrong):
    with pytest.raises(cd.InputError) as caught:
        cd.register(wrong)
    assert wrong.__name__ in str(caught.value)
    with pytest.raises(cd.InputError):
        cd.family(wrong.name)
