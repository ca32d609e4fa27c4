"""Conversion of supported inputs to named draws of shape (chain, draw, variable)."""
