"""Pictures and pages, from results only."""
