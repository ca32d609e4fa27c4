"""Self-contained HTML pages with the answer, plots and explanations of a comparison."""
