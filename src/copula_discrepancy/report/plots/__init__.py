"""Plots of results, for notebooks, papers, the page and the experiments: one style, and one function per plot."""
