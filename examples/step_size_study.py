"""A template for a step-size study in which ESS and the dependence disagree, on a posterior with minibatch noise.

python examples/step_size_study.py [figure.png]
"""

import sys

import copula_discrepancy as cd

posterior = cd.WellingTeh(batch=10)  # 100 data points, gradients from 10 of them at a time


def sampler(step, rng):
    """Replace this by your own sampler: it takes a setting and a random generator and returns draws (chain, draw, 2)."""
    return cd.sgld(posterior, posterior.sample(4, rng=rng), step=step, n_draws=2000, rng=rng)


study = cd.tune(
    sampler,
    [1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12],
    posterior.sample(20_000, rng=1),  # or cd.Gumbel(2.5), if the copula of the target is known
    score=posterior.gradient,  # for the kernel Stein discrepancy; optional
    name="step size",
    rng=1,
)
print(study)
if len(sys.argv) > 1:
    study.plot()[0].figure.savefig(sys.argv[1])
