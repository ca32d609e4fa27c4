"""A logistic regression on Fisher's irises by NumPyro: NUTS and two variational guides; python docs/draws/make_numpyro.py."""

import arviz_base as az
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from keep import keep
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
from sklearn.datasets import load_iris

jax.config.update("jax_enable_x64", True)
iris = load_iris()
two = iris.target > 0  # versicolor or virginica?
X = jnp.asarray((iris.data[two] - iris.data[two].mean(axis=0)) / iris.data[two].std(axis=0))
y = jnp.asarray(iris.target[two] == 2, dtype=int)
FEATURES = ["sepal length", "sepal width", "petal length", "petal width"]


def model():
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 5.0))
    beta = numpyro.sample("beta", dist.Normal(0.0, 5.0).expand([4]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=intercept + X @ beta), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, num_chains=4, chain_method="sequential", progress_bar=False)
mcmc.run(jax.random.key(1))
runs = {"nuts": mcmc.get_samples(group_by_chain=True)}

for name, kind in {"mean_field": autoguide.AutoNormal, "full_rank": autoguide.AutoMultivariateNormal}.items():
    guide = kind(model)

    fit = SVI(model, guide, numpyro.optim.Adam(0.002), Trace_ELBO(num_particles=16)).run(
        jax.random.key(2), 15_000, progress_bar=False
    )
    runs[name] = guide.sample_posterior(jax.random.key(3), fit.params, sample_shape=(1, 4000))

for name, samples in runs.items():
    draws = az.convert_to_dataset(dict(samples), coords={"feature": FEATURES}, dims={"beta": ["feature"]})
    keep(f"numpyro_{name}", {"posterior": draws}, __file__, ["numpyro", "jax", "numpy"])
