"""Random inputs for the whole public API; `tests/fuzzing.py` runs them."""
