"""What an InputError is checked by: its code, which stays the same from release to release, not its words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import copula_discrepancy as cd


@contextmanager
def refused(code: str = "argument") -> Iterator["pytest.ExceptionInfo[cd.InputError]"]:
    """Like `pytest.raises`, for an InputError with this code."""
    with pytest.raises(cd.InputError) as caught:
        yield caught
    assert caught.value.code == code, str(caught.value)
