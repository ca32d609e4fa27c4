"""Users of the rest: baselines, samplers, tuning, the paper's experiments."""
