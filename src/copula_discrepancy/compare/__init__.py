"""Comparisons of one pair, of all pairs or of a vine, with their results and texts."""
