"""Shared foundations: compiled loops, errors, checks, workers and files; nothing here depends on copulas."""
