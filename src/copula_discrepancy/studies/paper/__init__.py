"""The paper's three experiments and its timing study, as users of the library: they touch its public names only."""
