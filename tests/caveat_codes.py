"""Caveats in tests: by their codes, so that a better sentence breaks nothing but the snapshot in compare/messages.txt."""

from contextlib import contextmanager

import pytest

import copula_discrepancy as cd


@contextmanager
def warned(*codes):
    """What runs inside issues a DependenceWarning of every one of these codes, and perhaps of others."""
    with pytest.warns(cd.DependenceWarning) as caught:
        yield caught
    assert set(codes) <= {entry.message.code for entry in caught if issubclass(entry.category, cd.DependenceWarning)}


def codes_of(result):
    """The codes of a result's caveats, in their order."""
    return [caveat.code for caveat in result.caveats]
