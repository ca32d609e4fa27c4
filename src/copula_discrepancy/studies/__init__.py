"""Studies built on the library: baselines, samplers, tuning and the paper's experiments."""
