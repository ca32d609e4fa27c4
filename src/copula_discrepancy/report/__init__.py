"""Plots and HTML pages, from result objects only."""
