"""Estimates: ranks, fits, influence values and uncertainty of one sample, and gaps between two samples."""
