"""Fits of PyStan 3, built by hand: mappings whose arrays have chains beside each other; `make test-samplers` has real ones."""

from collections.abc import Mapping

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.data.refusals import refused

DRAWS = np.random.default_rng(1).normal(size=(7, 30, 4))  # (flat parameter, draw, chain), as PyStan holds them
DIMS = {"mu": [], "cov": [2, 3]}


class Fit(Mapping):
    """As stan/fit.py has it: arrays (..., draws x chains), scalars (1, draws x chains), elements in Stan's order."""

    num_chains, num_samples, num_thin, num_warmup, save_warmup = 4, 30, 1, 20, False
    param_names, dims = tuple(DIMS), tuple(DIMS.values())

    def __getitem__(self, name):
        flat = (DRAWS[:1] if name == "mu" else DRAWS[1:]).reshape(1 if name == "mu" else 6, -1)
        return flat.reshape(*(DIMS[name] or [1]), -1, order="F")

    def __iter__(self):
        return iter(DIMS)

    def __len__(self):
        return len(DIMS)


Fit.__module__ = "stan.fit"


def test_chains_and_elements_are_told_apart():
    draws = cd.as_draws(Fit())
    assert draws.names == ("mu", *(f"cov[{i}, {j}]" for i in (1, 2) for j in (1, 2, 3)))
    assert np.array_equal(draws.values[..., 0], DRAWS[0].T)
    columns = [f"cov[{i}, {j}]" for j in (1, 2, 3) for i in (1, 2)]  # Stan's order: the first index goes first
    for k, name in enumerate(columns):
        assert np.array_equal(draws.values[..., draws.names.index(name)], DRAWS[1 + k].T)


def test_selection_by_stan_s_names():
    assert cd.as_draws(Fit(), var_names=["cov[2, 1]", "mu"]).names == ("cov[2, 1]", "mu")
    assert len(cd.as_draws(Fit(), var_names="cov").names) == 6


def test_warm_up_is_left_out():
    fit = Fit()
    fit.save_warmup, fit.num_samples, fit.num_warmup, fit.num_thin = True, 20, 19, 2  # 10 of warm-up, rounded up, and 20
    draws = cd.as_draws(fit)
    assert np.array_equal(draws.values[..., 0], DRAWS[0, 10:].T)
    assert [note.split()[0] for note in draws.notes] == ["10"]


@pytest.mark.parametrize("choice", [{"coords": {"x": 1}}, {"group": "prior"}])
def test_options_it_has_no_use_for(choice):
    refused("argument", Fit(), **choice)


def test_another_mapping_of_this_name_is_a_dictionary():
    other = type("Fit", (dict,), {})({"a": np.zeros((2, 5)), "b": np.ones((2, 5))})
    assert cd.as_draws(other).names == ("a", "b")
