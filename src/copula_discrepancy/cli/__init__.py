"""The command line."""

from copula_discrepancy.cli.parser import main

__all__ = ["main"]
