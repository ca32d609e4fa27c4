"""Draws that must be refused, and the code of the error."""

import pytest

import copula_discrepancy as cd


def refused(code, draws, **choices):
    """Check that `as_draws` raises an InputError of this code, in one line; its message."""
    return refusal(code, cd.as_draws, draws, **choices)


def refusal(code, function, *given, **choices):
    """Check that a call raises an InputError of this code, in one line; its message."""
    with pytest.raises(cd.InputError) as caught:
        function(*given, **choices)
    message = str(caught.value)
    assert caught.value.code == code, message
    assert "\n" not in message
    return message
