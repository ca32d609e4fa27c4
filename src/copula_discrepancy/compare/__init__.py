"""The questions users ask: one pair, every pair, a vine; their results and words."""
