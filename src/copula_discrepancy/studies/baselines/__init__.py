"""Baselines for a copula discrepancy: the kernel Stein discrepancy, ESS, R-hat and the distance of the taus."""
