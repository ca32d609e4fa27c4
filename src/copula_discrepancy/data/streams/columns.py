"""Columns that the files of one source must share: their names, and kinds of types that can be read together."""

from collections.abc import Mapping, Sequence
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed, require_different
from copula_discrepancy.data.readers.chain_columns import CHAIN_NAMES, DRAW_NAMES
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.failures import require_columns, require_no_others

UNKNOWN = "empty"  # the kind of a column without values, which fits any other


def variable_columns(schema: Any) -> list[str]:
    """The columns of an Arrow schema, without the index of a pandas frame unless it identifies chains or draws."""
    require_different(schema.names)
    written = schema.pandas_metadata or {}
    index = {name for name in written.get("index_columns", ()) if isinstance(name, str)} - {*CHAIN_NAMES, *DRAW_NAMES}
    return [name for name in schema.names if name not in index]


def require_flat(schema: Any, names: Sequence[str]) -> None:
    """Raise if a column contains lists or records."""
    import pyarrow

    nested = [name for name in names if pyarrow.types.is_nested(schema.field(name).type)]
    if nested:
        others = [name for name in names if name not in nested]
        found = f"column {nested[0]} is nested (type {schema.field(nested[0]).type!s:.60})"
        advice = f"flatten it into columns, or select the others by name: {listed(others)}"
        raise InputError(f"{found}, but a variable has one number in each row; {advice}", "shape")


def kind_of(arrow_type: Any) -> str:
    """The kind of values of an Arrow type; columns of one kind can be read together."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_null(arrow_type):
        return UNKNOWN
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "number"
    if types.is_boolean(arrow_type):
        return "truth value"
    return "time" if types.is_temporal(arrow_type) else "text"


def require_shared(names: Sequence[str], labels: Sequence[str], columns: Sequence[Sequence[str]], options: ReadOptions) -> None:
    """Raise unless every file has these columns, and no others if the options select none."""
    for label, own in zip(labels[1:], columns[1:], strict=True):
        require_columns(names, own, label, columns[0])
        if options.var_names is None:
            require_no_others(own, columns[0], label)


def require_same_kinds(
    names: Sequence[str], labels: Sequence[str], kinds: Sequence[Mapping[str, str]], types: Sequence[Mapping[str, str]]
) -> None:
    """Raise if a column has values of another kind in another file; `types` are what the message calls them."""
    for name in names:
        known = next((k for k, own in enumerate(kinds) if own[name] != UNKNOWN), None)
        if known is None:
            continue
        for k, own in enumerate(kinds):
            if own[name] not in (kinds[known][name], UNKNOWN):
                found = f"column {name} is {types[k][name]} in {labels[k]}, but {types[known][name]} in {labels[known]}"
                raise InputError(f"{found}; write it with one type in all files, or leave it out", "names-differ")
