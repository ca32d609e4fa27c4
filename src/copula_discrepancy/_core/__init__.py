"""What every room stands on: compiled loops, errors, checks, workers, files; it knows nothing of copulas."""
