"""BlackJAX from a log density to a verdict, for a density whose copula is known: Clayton's, with standard normal margins."""

from importlib.util import find_spec

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.samplers.problems import CONFIDENCE, assert_gap, assert_no_gap

pytestmark = [
    pytest.mark.skipif(find_spec("blackjax") is None, reason="BlackJAX is not installed: make test-samplers"),
    pytest.mark.filterwarnings("default"),  # warnings of BlackJAX and JAX are not ours to mend
]
THETA = 2.0


def log_density(z):
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    log_u = norm.logcdf(z)
    root = jnp.logaddexp(jnp.logaddexp(-THETA * log_u[0], -THETA * log_u[1]), 0.0)
    # u**-theta + v**-theta - 1, in logarithms
    root = root + jnp.log1p(-2.0 * jnp.exp(-root))
    return norm.logpdf(z).sum() - (THETA + 1.0) * log_u.sum() - (2.0 + 1.0 / THETA) * root


def chains(one, count=4):
    """Positions (chain, draw, variable) of chains, one after the other."""
    import jax

    return np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys))(jax.random.split(jax.random.key(1), count)))


def langevin(step, thin):
    """Chains of SGLD with the whole gradient: Langevin dynamics without an accept step, in error by its step."""
    import blackjax
    import jax
    import jax.numpy as jnp

    sampler = blackjax.sgld(lambda z, _: jax.grad(log_density)(z))

    def one(key):
        def move(z, key):
            z = jax.lax.scan(lambda z, key: (sampler.step(key, z, None, step), None), z, jax.random.split(key, thin))[0]
            return z, z

        return jax.lax.scan(move, sampler.init(jnp.zeros(2)), jax.random.split(key, 1100))[1][100:]

    return chains(one)


def test_nuts_has_the_copula():
    import blackjax
    import jax
    import jax.numpy as jnp

    def one(key):
        adapt, run = jax.random.split(key)
        (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(adapt, jnp.zeros(2), num_steps=400)
        sampler = blackjax.nuts(log_density, **parameters)

        def move(state, key):
            state, _ = sampler.step(key, state)
            return state, state.position

        return jax.lax.scan(move, state, jax.random.split(run, 1000))[1]

    assert_no_gap(chains(one), cd.Clayton(THETA))


def test_short_steps_have_the_copula_and_long_steps_do_not():
    target = cd.Clayton(THETA)
    assert_no_gap(langevin(0.01, 100), target)
    result = assert_gap(langevin(0.45, 4), target, ["x0", "x1"])
    assert result.worst.level < 0  # steps that overshoot the ridge blur it


def test_pathfinder_has_a_normal_copula():
    """Right in strength or not, it has no tail dependence, of which Clayton's copula has much."""
    import blackjax
    import jax
    import jax.numpy as jnp

    find, draw = jax.random.split(jax.random.key(2))
    state, _ = blackjax.pathfinder.approximate(find, log_density, jnp.array([0.5, -0.5]))
    draws = np.asarray(blackjax.pathfinder.sample(draw, state, 4000)[0])
    assert cd.pairwise(draws, cd.Gaussian.from_tau(cd.kendall_tau(*draws.T)), iid=True, confidence=CONFIDENCE).n_flagged == 0
    result = cd.pairwise(draws, cd.Clayton(THETA), iid=True, confidence=CONFIDENCE).pair("x0", "x1")
    assert result.form.pvalue < 1 - CONFIDENCE
    assert result.tails["low_low"].value < 0
    assert result.tails["low_low"].pvalue < 1 - CONFIDENCE
