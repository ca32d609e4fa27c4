"""A regression with correlated predictors, sampled by PyMC in four ways: python docs/draws/make_pymc.py."""

import numpy as np
import pymc as pm
from keep import keep
from sklearn.datasets import load_diabetes

diabetes = load_diabetes()
X = diabetes.data / diabetes.data.std(axis=0)
y = (diabetes.target - diabetes.target.mean()) / diabetes.target.std()
coords = {"predictor": diabetes.feature_names}
settings = {"chains": 4, "cores": 1, "progressbar": False}

with pm.Model(coords=coords) as direct:
    beta = pm.Normal("beta", 0, 10, dims="predictor")
    sigma = pm.HalfNormal("sigma", 2)
    pm.Normal("y", X @ beta, sigma, observed=y)

Q, R = np.linalg.qr(X)  # the same regression on orthogonal predictors
with pm.Model(coords=coords) as orthogonal:
    gamma = pm.Normal("gamma", 0, 200, dims="predictor")
    pm.Deterministic("beta", pm.math.dot(np.linalg.inv(R), gamma), dims="predictor")
    sigma = pm.HalfNormal("sigma", 2)
    pm.Normal("y", Q @ gamma, sigma, observed=y)

with direct:
    runs = {
        "nuts": pm.sample(draws=500, tune=1000, random_seed=1, **settings),
        "metropolis": pm.sample(draws=500, tune=1000, step=pm.Metropolis(), random_seed=2, **settings),
        "advi": pm.fit(30_000, method="advi", random_seed=3, progressbar=False).sample(2000, random_seed=3),
    }
with orthogonal:
    runs["orthogonal"] = pm.sample(draws=500, tune=1000, random_seed=4, **settings)

for name, trace in runs.items():
    kept = {"posterior": trace.posterior[["beta", "sigma"]]}
    if hasattr(trace, "sample_stats") and "diverging" in trace.sample_stats:
        kept["sample_stats"] = trace.sample_stats[["diverging"]]
    keep(f"pymc_{name}", kept, __file__, ["pymc", "pytensor", "numpy"])
