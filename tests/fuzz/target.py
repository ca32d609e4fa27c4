"""A fuzz target: the function that an input calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.arrays import Fuzz
from tests.fuzz.kinds import Kind


@dataclass(frozen=True)
class Target:
    """A function, its arguments by kind, and its oracle.

    `weight` is how often it gets a turn, `covers` the public names and methods that it calls, beside its own name;
    `options` are arguments that are often left out.
    """

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Kind]
    check: Callable[[Any, dict[str, Any]], None]
    weight: float = 1.0
    covers: tuple[str, ...] = ()
    options: Mapping[str, Kind] = field(default_factory=dict)

    def plan(self, f: Fuzz) -> dict[str, Any]:
        """The arguments of one call: valid ones, of which up to three are then replaced."""
        kinds = {**self.arguments, **{name: kind for name, kind in self.options.items() if f.chance(0.2)}}
        wrong = f.one(0, 0, 0, 0, 0, 1, 1, 1, 2, 3)
        replaced = set(f.rng.choice(list(kinds), min(wrong, len(kinds)), replace=False)) if kinds else set()
        return {name: kind.odd(f) if name in replaced else kind.valid(f) for name, kind in kinds.items()}
