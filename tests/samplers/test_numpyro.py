"""NumPyro from model to verdict: NUTS, and a guide that cannot bend."""

from importlib.util import find_spec

import pytest

import copula_discrepancy as cd
from tests.samplers.problems import assert_gap, assert_no_gap, assert_same_answer, banana

pytestmark = [
    pytest.mark.skipif(find_spec("numpyro") is None, reason="NumPyro is not installed: make test-samplers"),
    pytest.mark.filterwarnings("default"),  # warnings of NumPyro and JAX are not ours to mend
]


def model():
    import numpyro
    import numpyro.distributions as dist

    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(x**2, 1.0))


@pytest.fixture(scope="module")
def mcmc():
    import jax
    from numpyro.infer import MCMC, NUTS

    sampler = NUTS(model, target_accept_prob=0.95)
    mcmc = MCMC(
        sampler, num_warmup=500, num_samples=10_000, num_chains=4, thinning=10, chain_method="sequential", progress_bar=False
    )
    mcmc.run(jax.random.key(1))
    return mcmc


def test_nuts_keeps_the_bend(mcmc):
    assert_no_gap(mcmc.get_samples(group_by_chain=True), banana(4000, 2))


def test_the_run_as_arviz_has_it(mcmc):
    """`InferenceData` before ArviZ 1, `DataTree` since, with the same draws."""
    import arviz as az

    held = cd.as_draws(az.from_numpyro(mcmc))
    taken = cd.as_draws(mcmc.get_samples(group_by_chain=True))
    assert held.names == taken.names == ("x", "y")
    assert (held.values == taken.values).all()


def test_a_normal_guide_loses_the_bend():
    import jax
    import numpyro
    from numpyro.infer import SVI, Trace_ELBO, autoguide

    guide = autoguide.AutoMultivariateNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO(num_particles=10))
    fit = svi.run(jax.random.key(1), 3000, progress_bar=False)
    draws = guide.sample_posterior(jax.random.key(2), fit.params, sample_shape=(1, 4000))
    result = assert_gap(draws, banana(4000, 3), ["x", "y"], iid=True)
    assert result.pair("x", "y").form.pvalue < 1e-6
    assert result.worst.kept < 0.2
    assert "bend" in result.worst.verdict


@pytest.mark.parametrize("labelled", [False, True])
def test_blocks_of_a_run_are_watched(labelled):
    """As the guide to watching has it: each block goes on where the one before ended."""
    import arviz as az
    import jax
    import numpy as np
    from numpyro.infer import MCMC, NUTS

    sampler = NUTS(model, target_accept_prob=0.95)
    mcmc = MCMC(sampler, num_warmup=500, num_samples=400, num_chains=2, chain_method="sequential", progress_bar=False)
    taken = []

    def blocks():
        mcmc.warmup(jax.random.key(4))
        for _ in range(4):
            mcmc.run(mcmc.post_warmup_state.rng_key)
            taken.append(mcmc.get_samples(group_by_chain=True))
            yield az.from_numpyro(mcmc) if labelled else taken[-1]
            mcmc.post_warmup_state = mcmc.last_state

    last = cd.watch(blocks(), banana(4000, 5), every=0.0, share=1.0, progress=False)
    assert last.lengths == (1600, 1600)
    whole = {name: np.concatenate([block[name] for block in taken], axis=1) for name in taken[0]}
    assert_same_answer(last, cd.pairwise(whole, banana(4000, 5)))
    assert (last.result.samples[0].diverging is not None) == labelled
    assert "bend" not in last.result.worst.verdict
