"""Draws that must be refused, and the code of the error."""

import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.draws import numeric_draws


def refused(code, draws, **choices):
    """Check that draws raise an InputError of this code, in one line; its message.

    What is no number has a kind of its own for `as_draws`, and is refused by the functions that need numbers.
    """
    return refusal(code, numeric_draws if code == "not-numeric" else cd.as_draws, draws, **choices)


def refusal(code, function, *given, **choices):
    """Check that a call raises an InputError of this code, in one line; its message."""
    with pytest.raises(cd.InputError) as caught:
        function(*given, **choices)
    message = str(caught.value)
    assert caught.value.code == code, message
    assert "\n" not in message
    return message
