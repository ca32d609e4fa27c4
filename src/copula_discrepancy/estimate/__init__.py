"""One sample's ranks, fits, influence values and their uncertainty; two samples' gaps."""
