"""From whatever a user has to named draws, (chain, draw, variable)."""
