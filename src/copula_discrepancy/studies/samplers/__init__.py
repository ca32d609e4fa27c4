"""Small samplers for studies: chains whose errors are known, over targets whose dependence is known.

Metropolis, SGLD and SGHMC with friction, written for readability. They accept a user's log density or gradient, and are
compiled for the built-in targets. For production use BlackJAX, NumPyro or PyMC.

Examples
--------
>>> import copula_discrepancy as cd
>>> from copula_discrepancy.studies.samplers import MetaCopula, metropolis
>>> run = metropolis(MetaCopula(cd.Gumbel(2.5)), [[0.0, 0.0], [1.0, 1.0]], scale=1.0, n_draws=2000, rng=0)
>>> run.values.shape
(2, 2000, 2)
"""

from copula_discrepancy.studies.samplers.chains import Chains
from copula_discrepancy.studies.samplers.meta_copula import MetaCopula
from copula_discrepancy.studies.samplers.posterior import WellingTeh
from copula_discrepancy.studies.samplers.run import DivergenceError, metropolis, sghmc, sgld
from copula_discrepancy.studies.samplers.targets import BimodalMixture, GaussianTarget, Target

__all__ = [
    "BimodalMixture", "Chains", "DivergenceError", "GaussianTarget", "MetaCopula", "Target", "WellingTeh", "metropolis",
    "sghmc", "sgld",
]  # fmt: skip
