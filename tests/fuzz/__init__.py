"""Inputs at random over everything public: see `tests/fuzzing.py`, which runs them."""
