"""Fuzz targets: runs that are watched while they grow, as iterators of blocks."""

import math
from typing import Any

import numpy as np

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import Fuzz, anything, damaged
from tests.fuzz.kinds import FLAG, NAMES, Kind, choice, draws, sample
from tests.fuzz.oracle import need
from tests.fuzz.target import Target


def _blocks(f: Fuzz) -> list[Any]:
    rows = f.rng.standard_normal((f.between(1, 3), 40 + f.between(0, 40), f.width))
    return np.array_split(rows, f.between(1, 4), axis=1)


def _odd_blocks(f: Fuzz) -> Any:
    blocks = _blocks(f)
    place = f.between(0, len(blocks) - 1)
    blocks[place] = f.one(damaged(f, sample(f, f.width)), blocks[place][:, :, :1], blocks[place][:1], anything(f))
    return f.one(blocks, [], anything(f))


BLOCKS = Kind(_blocks, _odd_blocks)
SECONDS = Kind(lambda f: f.one(0.0, 0.5), lambda f: f.one(-1.0, float("nan"), "soon", None, anything(f)))
SHARE = Kind(lambda f: f.one(0.25, 1.0), lambda f: f.one(0.0, 2.0, -0.1, float("nan"), anything(f)))
ERROR = Kind(lambda f: f.one(0.02, 0.5), lambda f: f.one(0.0, 1.0, float("inf"), anything(f)))


def watched(blocks: Any, reference: Any, **choices: Any) -> cd.Pairwise:
    """The last answer about an iterator of the blocks, of which everything said on the way is looked at."""
    seen: list[cd.WatchUpdate] = []
    if not isinstance(blocks, list):
        choices["wait"] = 0.0  # any text is a path that may exist one day
    last = cd.watch(iter(blocks) if isinstance(blocks, list) else blocks, reference, on_update=seen.append, **choices)
    need(seen[-1] is last, "the last update is another one")
    need([update.final for update in seen] == [False] * (len(seen) - 1) + [True], "updates after the end")
    need(math.isnan(last.age), "a last answer that is none")
    for update in seen:
        if update.result is not None and not update.final:
            need(update.result.caveats[0].code == "unfinished-run", "a look without a reservation")
        need(bool(repr(update) and update._repr_html_() and update.sentences()), "nothing said")
        need(update.to_dict()["lengths"] == [*update.lengths], "other lengths")
    assert last.result is not None
    return last.result


def check(answer: cd.Pairwise, given: dict[str, Any]) -> None:
    oracle.pairwise(answer)
    need(not answer.unfinished, "an unfinished answer at the end")


TARGETS = [
    Target(
        "watch",
        watched,
        {"blocks": BLOCKS, "reference": draws(None), "progress": Kind(lambda f: False, lambda f: f.one(False, None))},
        check,
        1.0,
        ("WatchUpdate", "WatchUpdate.sentences", "WatchUpdate.to_dict"),
        options={
            "iid": FLAG, "every": SECONDS, "share": SHARE, "wait": SECONDS, "patience": SECONDS, "error": ERROR,
            "var_names": NAMES, "method": choice("mle", "moment"), "n_jobs": Kind(lambda f: 1, lambda f: f.one(1, 0, "all")),
        },
    ),
]  # fmt: skip
