"""What people compare a copula discrepancy with: kernel Stein discrepancy, ESS, R-hat, the gap of the taus."""
