"""Pictures of results, for notebooks, papers, the page and the experiments: one look, and one function for each picture."""
