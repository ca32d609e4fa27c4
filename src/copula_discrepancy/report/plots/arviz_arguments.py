"""What the arguments of plots by arviz-plots must be, checked in one place: others fail inside it, or change nothing."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.many import pairwise
from copula_discrepancy.data.naming import listed, unknown_name

_CHOSEN_BEFORE = ("dt", "group", "coords", "sample_dims", "ci_prob", "ci_probs", "combined", "reference_values")
_LABELLER = ("dim_coord_to_str", "make_label_vert", "make_label_flat")  # methods of every labeller of ArviZ


class Kind(NamedTuple):
    """What one of the plots takes.

    `function` is ours and `theirs` the plot of arviz-plots like it; `made_by` is the class of what is returned, and `makes`
    creates one. `into` is the argument with one to draw into, `visuals` are the names of what is drawn, `mapped` the names of
    what has aesthetics, and `aesthetics` are those that there always are.
    """

    function: Callable[..., Any]
    theirs: Callable[..., Any]
    made_by: Any
    makes: Callable[..., Any]
    into: str
    visuals: tuple[str, ...]
    mapped: tuple[str, ...]
    aesthetics: tuple[str, ...]


def require_arguments(
    kind: Kind, into: Any, backend: Any, labeller: Any, aes_by_visuals: Any, visuals: Any, pc_kwargs: Mapping[str, Any]
) -> None:
    """Raise unless all arguments are of the kinds that the plot takes, and change something."""
    _require_mapping(pc_kwargs.get("aes", {}), "aes", "aesthetics to dimensions")
    _require_mapping(pc_kwargs.get("figure_kwargs", {}), "figure_kwargs", "names to values")
    aesthetics = {*kind.aesthetics, *pc_kwargs.get("aes", ())}
    _require_used(kind, pc_kwargs, aesthetics)
    if into is not None:
        _require_plot(kind, into, backend, pc_kwargs)
        aesthetics = into.aes_set
    if labeller is not None and not all(callable(getattr(labeller, name, None)) for name in _LABELLER):
        rule = "labeller must be one of ArviZ's labellers, such as arviz_base.labels.MapLabeller(...)"
        raise InputError(f"{rule}, got {labeller!r:.60}")
    _require_mapping({} if visuals is None else visuals, "visuals", "names of visuals to keyword arguments or False")
    for name, options in (visuals or {}).items():
        one_of(name, "visuals", kind.visuals)
        if not isinstance(options, Mapping | bool):
            raise InputError(f"visuals[{name!r}] must be a mapping of keyword arguments, or False, got {options!r:.60}")
    _require_mapping(
        {} if aes_by_visuals is None else aes_by_visuals, "aes_by_visuals", "names of visuals to lists of aesthetics"
    )
    for name, used in (aes_by_visuals or {}).items():
        one_of(name, "aes_by_visuals", kind.mapped)
        if isinstance(used, str) or not isinstance(used, Iterable):
            raise InputError(f"aes_by_visuals[{name!r}] must be a list of aesthetics, such as ['color'], got {used!r:.60}")
        for aesthetic in used:
            if aesthetic not in aesthetics:
                rule = unknown_name(str(aesthetic), sorted(aesthetics), "aesthetic")
                raise InputError(f"aes_by_visuals[{name!r}]: {rule}; map it to a dimension by aes={{...}} first")


def labels_of(labels: Any, shade_label: Any, several: bool) -> tuple[str, ...]:
    """The dimensions that are labelled in a forest; by default pairs and, of several gaps, their names."""
    dimensions = ("__variable__", "pair")
    if labels is None:
        labels = dimensions if several else ("pair",)
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise InputError(f"labels must be a list of dimensions, such as ['pair'], got {labels!r:.60}")
    for label in labels:
        one_of(label, "labels", dimensions)
    if shade_label is not None and shade_label not in labels:
        raise InputError(f"shade_label must be one of the labels, {listed(labels)}, got {shade_label!r:.60}")
    return tuple(dict.fromkeys(labels))


def _require_mapping(given: Any, name: str, what: str) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a dictionary of {what}, got {given!r:.60}")


def _require_used(kind: Kind, given: Mapping[str, Any], aesthetics: set[str]) -> None:
    """Raise for arguments of ArviZ's plot, or of the comparison, that would be swallowed, and for those that nothing has."""
    function = kind.function.__name__
    own, makes = (inspect.signature(called).parameters for called in (kind.function, kind.makes))
    passed = ["aes", *(name for name in makes if name not in ("self", "data", "aes", "backend", "kwargs"))]
    for name in given:
        if name in passed or name in aesthetics:
            continue
        if name in _CHOSEN_BEFORE:
            raise InputError(
                f"{function} has no argument {name!r}: it draws a result, whose draws and confidence were chosen in cd.pairwise"
            )
        if name in inspect.signature(kind.theirs).parameters:
            raise InputError(f"{function} has no argument {name!r}, which {kind.theirs.__name__} of arviz-plots has; omit it")
        if name in inspect.signature(pairwise).parameters:
            raise InputError(
                f"{name!r} is an option of the comparison: pass it to cd.pairwise, or as compare={{{name!r}: ...}} to the "
                "method of a dataset"
            )
        known = [name for name in own if name not in ("result", "pc_kwargs")]
        raise InputError(f"{function}: {unknown_name(name, [*known, *passed, *sorted(aesthetics)], 'argument')}")


def _require_plot(kind: Kind, into: Any, backend: Any, pc_kwargs: Mapping[str, Any]) -> None:
    """Raise unless a plot to draw into is of the right class and backend, and nothing is passed that makes a new one."""
    name = kind.made_by.__name__
    if not isinstance(into, kind.made_by):
        rule = f"{kind.into} must be a {name}, as {kind.function.__name__} returns it"
        raise InputError(f"{rule}, got a {type(into).__name__}")
    if backend is not None and backend != into.backend:
        raise InputError(f"backend={backend!r} was passed, but {kind.into} has {into.backend!r}; omit it")
    if pc_kwargs:
        raise InputError(f"{listed([*pc_kwargs])} would make a new {name}, but {kind.into} was passed; omit one of them")
