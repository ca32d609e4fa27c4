"""Speed and accuracy against peers, measured in one run on the same data."""
