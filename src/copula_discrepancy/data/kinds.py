"""Kinds of columns of a table, and which of them have an order."""

NUMERIC, BOOLEAN, ORDINAL, NOMINAL = "numeric", "boolean", "ordinal", "nominal"
DATE, DURATION, MISSING = "date", "duration", "missing"
KINDS = (NUMERIC, BOOLEAN, ORDINAL, NOMINAL, DATE, DURATION, MISSING)


def is_ordered(kind: str) -> bool:
    """Whether the values of a column of this kind have an order: all but nominal ones."""
    return kind != NOMINAL
