"""A curve through six measurements by NumPyro: NUTS and three variational guides; python docs/draws/make_vi.py."""

import arviz_base as az
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from keep import keep
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide

jax.config.update("jax_enable_x64", True)
DAYS = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0])  # biochemical oxygen demand in mg/l (Marske, 1967; in Bates and Watts, 1988)
DEMAND = jnp.array([8.3, 10.3, 19.0, 16.0, 15.6, 19.8])


def model():
    limit = numpyro.sample("limit", dist.LogNormal(3.0, 0.5))
    rate = numpyro.sample("rate", dist.LogNormal(-0.7, 1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(5.0))
    numpyro.sample("demand", dist.Normal(limit * (1.0 - jnp.exp(-rate * DAYS)), sigma), obs=DEMAND)


sampler = NUTS(model, target_accept_prob=0.95)
mcmc = MCMC(sampler, num_warmup=1000, num_samples=2000, num_chains=4, chain_method="sequential", progress_bar=False)
mcmc.run(jax.random.key(1), extra_fields=("diverging",))
diverging = az.convert_to_dataset({"diverging": mcmc.get_extra_fields(group_by_chain=True)["diverging"]})
draws = az.convert_to_dataset(mcmc.get_samples(group_by_chain=True))
keep("vi_nuts", {"posterior": draws, "sample_stats": diverging}, __file__, ["numpyro", "jax", "numpy"])

GUIDES = {
    "mean_field": autoguide.AutoNormal,
    "full_rank": autoguide.AutoMultivariateNormal,
    "flow": autoguide.AutoBNAFNormal,
}
for name, kind in GUIDES.items():
    guide = kind(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.002), Trace_ELBO(num_particles=16))
    fit = svi.run(jax.random.key(2), 10_000, progress_bar=False)
    draws = az.convert_to_dataset(dict(guide.sample_posterior(jax.random.key(3), fit.params, sample_shape=(1, 8000))))
    elbo = Trace_ELBO(num_particles=20_000).loss(jax.random.key(4), fit.params, model, guide)
    draws.attrs["kept"] = {"elbo": -float(elbo)}
    keep(f"vi_{name}", {"posterior": draws}, __file__, ["numpyro", "jax", "numpy"])
