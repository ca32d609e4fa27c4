"""The paper's three experiments and its timing study, which use only public names of the library."""
