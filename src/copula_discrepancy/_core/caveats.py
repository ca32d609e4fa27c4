"""What to keep in mind when reading a number, as data: a code for programs, a sentence for people, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Caveat:
    """A reservation about a result: `code` for programs, `sentence` for people, `advice` on what to do.

    What the ``caveats`` of every result hold; the ``warnings`` beside them are their sentences.

    Parameters
    ----------
    code : str
        Stays the same from release to release, such as ``"few-effective-draws"``.
    sentence : str
        What was found, with its numbers.
    advice : str
        What to do about it; empty where the sentence says it.

    See Also
    --------
    DependenceWarning : What Python issues for each of them.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> caveat = cd.Caveat("one-chain", "one chain: nothing tells whether another one would agree", "Run more chains.")
    >>> caveat.code, str(caveat)
    ('one-chain', 'one chain: nothing tells whether another one would agree')
    """

    code: str
    sentence: str
    advice: str = ""

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, str]:
        """Code, sentence and advice, ready for JSON."""
        return {"code": self.code, "sentence": self.sentence, "advice": self.advice}


def sentences(caveats: Iterable[Caveat]) -> tuple[str, ...]:
    """What caveats say."""
    return tuple(caveat.sentence for caveat in caveats)
