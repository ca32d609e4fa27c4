"""What every ranked result prints: an answer in one line, sentences by topic, the first rows of a table, and notes."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from copula_discrepancy._core.caveats import WithCaveats
from copula_discrepancy._core.checks import independent_sides, is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording
from copula_discrepancy.data.draws import Draws

SHOWN = 10  # rows of a printed table
_SHOWN_HTML = 50  # and in a notebook, where one can scroll


class NoSuchPlace(InputError, IndexError):
    """An index outside of the ranking: an IndexError with the library's own message."""


class Ranking(WithCaveats, ABC):
    """Base class of rankings of pairs, edges or triples; the noun for a row is `unit`."""

    unit: ClassVar[str]
    _subject: ClassVar[str]  # how the first line begins

    samples: tuple[Draws, Draws | None]
    iid: bool | str
    notes: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The answer in a few words."""

    @property
    @abstractmethod
    def outcome(self) -> str:
        """The verdict as one word."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What was compared, in one line."""

    @abstractmethod
    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic."""

    @abstractmethod
    def table_rows(self, limit: int | None = SHOWN) -> list[list[str]]:
        """The ranking as text, with a heading.

        Parameters
        ----------
        limit : int or None
            Largest number of rows; None for all.

        Returns
        -------
        list of list of str
            The heading, then the rows.
        """

    @property
    def independent(self) -> tuple[bool, bool]:
        """Whether the draws, and those of the reference, were treated as independent."""
        return independent_sides(self.iid)

    @property
    def things(self) -> str:
        """The noun for the observations in messages: "draws", or "rows" for a table."""
        return wording.called(self.samples[0], self.independent[0])

    def _checked_place(self, key: Any, otherwise: str) -> int:
        """A position in the ranking; `otherwise` says how else a row is selected."""
        if not is_whole(key):
            raise InputError(f"a {self.unit} is selected by its position in the ranking{otherwise}, got {key!r:.60}")
        if not -len(self) <= key < len(self):
            raise NoSuchPlace(f"index {key!r} is out of range for a ranking of {wording.counted(len(self), self.unit)}")
        return int(key)

    def _printed_rows(self) -> list[list[str]]:
        return self.table_rows()

    def _second_table(self) -> list[list[str]]:
        """A further table below the ranking; none by default."""
        return []

    def __repr__(self) -> str:
        lines = [self._headline, *wording.wrapped(self.title), *wording.paragraphs(self.sentences())]
        lines += wording.text_table(self._printed_rows())
        if len(self) > SHOWN:
            lines.append(f"  ... and {len(self) - SHOWN:,} more; see to_dataframe()")
        second = self._second_table()
        lines += ["", *wording.text_table(second)] if second else []
        return "\n".join(lines + wording.noted((*self.notes, *self.warnings)))

    def _repr_html_(self) -> str:
        notes = *self.notes, *self.warnings
        rows, second = self.table_rows(_SHOWN_HTML), self._second_table()
        return wording.html(self._headline, self.title, self.sentences(), rows, notes, second)

    @property
    def _headline(self) -> str:
        return f"{self._subject}: {wording.answer_line(self, capital=False)}"
