"""Chains that repeat others have no information of their own: where errors are computed they are left out, and told."""

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.repeats import LEFT_OUT_ONCE, repeated_chains, without_repeated_chains

COUNTED_AS_ONE = ", and counts as the same chain"  # ends the note on a chain whose rows were counted, and are gone
_NAMED = 8  # chains that are told one by one; of the others only the number is given


def chains_once(draws: Draws, *, iid: bool) -> Draws:
    """Draws of which each chain counts once; rows that are independent stay as they are: of these, repeated rows are told."""
    return draws if iid or draws.n_chains == 1 else without_repeated_chains(draws)


def repeated_chains_caveats(draws: Draws, *, iid: bool, things: str = "draws", whose: str = "") -> list[Caveat]:
    """A caveat on chains with the same draws as another, which were left out, or count twice; none for independent rows.

    Parameters
    ----------
    draws : Draws
        The sample, with or without these chains.
    iid : bool
        Whether its rows are independent.
    things : str
        The noun for its observations.
    whose : str
        The start of the sentence, such as "reference: ".
    """
    if iid:
        return []
    called = draws.chain_name
    told = [note for note in draws.notes if note.endswith((LEFT_OUT_ONCE, COUNTED_AS_ONE))]
    told += [f"{called(k)} has the same {things} as {called(first)}" for k, first in repeated_chains(draws).items()]
    more = len(told) - _NAMED
    sentence = "; ".join([*told[:_NAMED], *([f"{more} more chains repeat others"] if more > 0 else [])])
    return [caveat_of("repeated-chains", whose + sentence)] if told else []
