"""One growing CSV file: the rows that a sampler appended since the last look, read from where that look ended."""

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.following.progress import NOT_YET, UNFINISHED, Growing, Lack, unreadable
from copula_discrepancy.data.missing import require_finite
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.readers import stan
from copula_discrepancy.data.readers.chain_columns import CHAIN_NAMES, DRAW_NAMES, layout
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.data.readers.non_variables import is_identifier_name
from copula_discrepancy.data.readers.options import ReadOptions

_BLOCK = 2**24  # bytes read at once: a large file is caught up with in bounded memory
_LONGEST = 2**26  # bytes of a line: a million columns have fewer
_HEAD, _TAIL = 4096, 256  # bytes that tell whether a file still begins and goes on as it did: settings, seed and first rows
_END = b"Elapsed Time"  # in the comment that a finished chain of CmdStan ends with
_BOM = b"\xef\xbb\xbf"  # which editors put before a text
_HOLE = bytes(4)  # what a writer leaves out that goes on at its old place after a truncation; no text has four zero bytes
_NO_HEADER = Lack("has no complete header yet", "have no complete header yet")
_NO_DRAWS = Lack("has no draws yet", "have no draws yet")
_WARMING_UP = Lack("has no draws yet: the sampler is warming up", "have no draws yet: the sampler is warming up")


@dataclass
class _Read:
    """What was read of one version of the file: bytes up to the end of a line, lines, comments, and rows.

    `chosen` are the columns of the variables, and `flag` that of divergent transitions, unless these are `unknown` because some
    are missing; `before` counts the rows that are not draws yet to come. All is None before the header.
    """

    offset: int = 0
    lines: int = 0
    head: bytes = b""
    tail: bytes = b""
    comments: list[str] = field(default_factory=list)
    header: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    chosen: list[int] = field(default_factory=list)
    flag: int | None = None
    unknown: bool = False
    left_out: int = 0
    before: int = 0
    ended: bool = False
    rows: Growing = field(default_factory=lambda: Growing(0))
    divergent: Growing = field(default_factory=lambda: Growing(None, np.bool_))


class GrowingCsv:
    """A CSV file of one chain that a sampler writes; `look` reads what is new.

    A file is the same as long as what was read of it is still there, so that copies which replace each other, as rsync makes
    them, are followed too. Otherwise the run began anew, which increases `generation`; `settings_before` are those of the
    last one before, and `void` is the number of draws of all before. `lack` is why it cannot be read now, and `changed` when it
    was written last, in seconds; `grew` is whether it was seen to change its size.
    """

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.generation = 0
        self.settings_before: dict[str, str] = {}
        self.void = 0
        self.lack: Lack | None = None
        self.changed = 0.0
        self.grew = False
        self._read = _Read()
        self._stamp: tuple[int, ...] | None = None
        self._unfinished = False

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns, as they are in the file; empty before the header is there."""
        return self._read.header

    @property
    def size(self) -> int:
        """The bytes that were read."""
        return self._read.offset

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the selected variables."""
        return self._read.names

    @property
    def settings(self) -> dict[str, str]:
        """Stan's settings."""
        return stan.settings(self._read.comments)

    @property
    def expected(self) -> int | None:
        """The draws of the finished chain, if the settings tell it."""
        return stan.expected_draws(self.settings)

    @property
    def finished(self) -> bool:
        """Whether the file ends as that of a finished chain, or has all draws."""
        return self._read.ended or (self.expected is not None and len(self._read.rows) >= self.expected)

    @property
    def rows(self) -> NDArray[Any]:
        """The draws so far, (draw, variable)."""
        return self._read.rows.view()

    @property
    def divergent(self) -> NDArray[Any] | None:
        """Whether each draw is divergent; None if no column tells."""
        return None if self._read.flag is None else self._read.divergent.view()

    @property
    def identity(self) -> tuple[int, ...]:
        """What tells two files apart, whatever they are called; empty if it was not there."""
        return () if self._stamp is None else self._stamp[:2]

    @property
    def exists(self) -> bool:
        """Whether the file is there, or was."""
        return self.lack is not NOT_YET

    @property
    def at_rest(self) -> bool:
        """Whether the file is there and ends with a whole line, so that it can be read as a whole."""
        return self._stamp is not None and not self._unfinished and self.lack is None

    @property
    def notes(self) -> list[str]:
        """What was left out, and what waits."""
        read = self._read
        seen = read.left_out - read.before
        found = []
        if read.left_out and self.settings.get("method") == "variational":
            found.append("first row left out: it is the mean of the approximation")
        elif seen:
            found.append(f"{seen}{f' of {read.left_out}' * (read.before > 0)} warm-up draws left out")
        if read.unknown:
            found.append(unknown_divergences(f"{stan.DIVERGENT} has missing values"))
        if self._unfinished and self._stamp is not None:
            found.append(UNFINISHED)
        return found

    def look(self) -> None:
        """Read what was appended; with nothing new, that costs the time of asking for the file's size."""
        with errors_about(self.path):
            try:
                self._look()
                self.lack = self._missing()
            except FileNotFoundError:
                kept = f"its {len(self._read.rows):,} draws are kept"
                gone = Lack(f"is gone; {kept}", "are gone; their draws are kept", named=True)
                self.lack = gone if self._read.offset else NOT_YET
            except PermissionError:
                raise InputError("permission denied", "file") from None
            except OSError as error:
                self.lack = unreadable(error)

    def _look(self) -> None:
        before, self._stamp = self._stamp, None  # an error is raised again by the next look
        with open(self.path, "rb") as file:
            status = os.fstat(file.fileno())
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            self.changed = status.st_mtime
            if stamp != before:
                self.grew = self.grew or (before is not None and before[2] != status.st_size)
                self._start_anew_if_changed(file, status.st_size)
                self._advance(file, status.st_size)
                self._unfinished = status.st_size > self._read.offset
        self._stamp = stamp

    def _missing(self) -> Lack | None:
        if not self._read.header:
            return _NO_HEADER
        if not len(self._read.rows):
            return _WARMING_UP if self._read.comments else _NO_DRAWS
        return None

    def _start_anew_if_changed(self, file: BinaryIO, size: int) -> None:
        """Forget what was read if it is no longer in the file."""
        read = self._read
        if not read.offset:
            return
        same = size >= read.offset and file.read(len(read.head)) == read.head
        if same:
            file.seek(read.offset - len(read.tail))
            same = file.read(len(read.tail)) == read.tail
        if not same:
            self.void += len(read.rows)
            self.settings_before = self.settings
            self._read = _Read()
            self.generation += 1

    def _advance(self, file: BinaryIO, size: int) -> None:
        """Read whole lines up to `size` bytes, one block after another."""
        held = b""
        while self._read.offset + len(held) < size:
            file.seek(self._read.offset + len(held))
            more = file.read(min(_BLOCK, size - self._read.offset - len(held)))
            if not more:
                return
            held += more
            if len(held) > _LONGEST and b"\n" not in held:
                if _HOLE in held:
                    raise self._truncated(self._read.lines + 1)
                raise InputError(f"line {self._read.lines + 1} has no end, so this is no text file", "file-format")
            end = held.rfind(b"\n") + 1
            if end:
                self._take(held[:end])
                held = held[end:]

    def _truncated(self, line: int) -> InputError:
        """The error about what a writer left that went on at its old place, or after its header was gone."""
        found = "the file was truncated while it was " + ("followed" if self.generation else "written")
        lost = f"line {line} has zero bytes where draws were" if self._read.header or line > 1 else "its header is gone"
        advice = "start the run again, and leave its files alone while it goes on"
        return InputError(f"{found}, and {lost}; {advice}", "file-format")

    def _take(self, block: bytes) -> None:
        """Add whole lines; what was read stays as it was if they cannot be, or if reading is interrupted."""
        if _HOLE in block:
            raise self._truncated(self._read.lines + block.count(b"\n", 0, block.index(_HOLE)) + 1)
        before, lines, begin = replace(self._read), block.split(b"\n")[:-1], 0
        counts = len(before.rows), len(before.divergent)
        try:
            if not before.header:
                begin = self._take_header(lines)
            self._take_rows(*self._rows_among(lines, begin, before.lines + 1))
            read = self._read
            read.ended = read.ended or any(line.startswith(b"#") and _END in line for line in lines[begin:])
            read.head, read.tail = (before.head + block)[:_HEAD], (before.tail + block[-_TAIL:])[-_TAIL:]
            read.offset, read.lines = before.offset + len(block), before.lines + len(lines)
        except BaseException:
            before.rows.cut(counts[0])
            before.divergent.cut(counts[1])
            self._read = before
            raise

    def _take_header(self, lines: list[bytes]) -> int:
        """Keep the comments above the header, and the header if it is there; the number of lines that were used."""
        comments = [*self._read.comments]
        if not self._read.lines and lines:
            lines = [lines[0].removeprefix(_BOM), *lines[1:]]
        for used, line in enumerate(lines, 1):
            if line.startswith(b"#"):
                comments.append(_decoded(line, self._read.lines + used).strip())
            elif line and not line.isspace():
                header = _names_in(_decoded(line, self._read.lines + used), self._read.lines + used)
                self._read = self._with_header(_Read(comments=comments), [name.strip().strip('"') for name in header])
                return used
        self._read = _Read(comments=comments)
        return len(lines)

    def _with_header(self, read: _Read, header: list[str]) -> _Read:
        options = self.options
        if self.generation and any(map(_is_number, header)):  # what a sampler appended to a file that was emptied
            raise self._truncated(1)
        from_stan = stan.is_stan(read.comments, header)
        options.refuse("a CSV file that grows" if not from_stan else "a Stan CSV file", "group", "coords", "chain column")
        if from_stan:
            asked = (*(options.var_names or ()), *options.exclude) if options.filter_vars is None else ()
            places = [k for k, name in enumerate(header) if not name.endswith("__") or name in asked]
        else:
            _require_plain(header)
            places = list(range(len(header)))
        names = [stan.variable_name(header[k]) if from_stan else header[k] for k in places]
        chosen = layout(names, options, chains=False).chosen
        read.header, read.names = tuple(header), tuple(names[k] for k in chosen)
        read.chosen = [places[k] for k in chosen]
        read.flag = header.index(stan.DIVERGENT) if stan.DIVERGENT in header else None
        read.left_out = read.before = stan.rows_left_out(stan.settings(read.comments)) if from_stan else 0
        read.rows = Growing(len(chosen))
        return read

    def _rows_among(self, lines: list[bytes], begin: int, first: int) -> tuple[list[int], list[bytes]]:
        """The lines of rows and their numbers in the file, without comments and blank lines."""
        numbers, rows, width = [], [], len(self._read.header)
        for k in range(begin, len(lines)):
            line = lines[k]
            if not line.startswith(b"#") and line and not line.isspace():
                if line.count(b",") != width - 1:
                    raise self._torn(line, first + k)
                numbers.append(first + k)
                rows.append(line)
        return numbers, rows

    def _torn(self, line: bytes, number: int) -> InputError:
        count, width = line.count(b",") + 1, len(self._read.header)
        found = f"line {number} has {count} value{'s' * (count != 1)}, but the header has {width}"
        cause = "a sampler was killed or the disk was full, and another run was appended"
        return InputError(
            f"{found}: {cause}; give each run a file of its own, or remove what follows line {number - 1}", "file-format"
        )

    def _take_rows(self, numbers: list[int], lines: list[bytes]) -> None:
        read = self._read
        skipped = min(read.before, len(lines))
        lines, numbers = lines[skipped:], numbers[skipped:]
        if lines:
            columns = read.chosen if read.flag is None else [*read.chosen, read.flag]
            values = self._numbers_of(lines, numbers, columns)
            rows = values[:, : len(read.chosen)]
            if not np.isfinite(rows).all():  # the same error as that of the whole file
                require_finite(np.concatenate([read.rows.view(), rows])[None], read.names, chained=True)
            read.rows.extend(rows)
            if read.flag is not None and np.isnan(values[:, -1]).any():
                read.flag, read.unknown = None, True
            elif read.flag is not None:
                read.divergent.extend(values[:, -1] != 0)
        read.before -= skipped

    def _numbers_of(self, lines: list[bytes], numbers: list[int], columns: list[int]) -> NDArray[np.float64]:
        """The values of these columns, correctly rounded as those of the reader of whole files."""
        try:
            values: NDArray[np.float64] = np.loadtxt(
                lines, delimiter=",", comments=None, usecols=columns, ndmin=2, dtype=np.float64
            )
            return values
        except ValueError:
            for line, number in zip(lines, numbers, strict=True):
                fields = line.split(b",")
                for k in columns:
                    _require_number(fields[k], number, self._read.header, k, fields)
            raise  # for type checkers: one of the lines has no number


def _require_number(text: bytes, number: int, header: Sequence[str], column: int, fields: list[bytes]) -> None:
    try:
        if b"_" in text:  # as in 1_0, which is a number in Python and in no file
            raise ValueError
        float(text)
    except ValueError:
        if fields[column].strip().strip(b'"') == header[column].encode():
            advice = "the header occurs again, so a second run was appended; give each run a file of its own"
        else:
            advice = "select other variables by name, or find out what wrote it"
        found = f"line {number}: the column {header[column]!r} must have numbers, got {text.decode(errors='replace')!r:.40}"
        raise InputError(f"{found}; {advice}", "not-numeric") from None


def _decoded(text: bytes, number: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise InputError(f"the file is not UTF-8 text (line {number}), so it cannot be followed", "file-format") from None


def _names_in(text: str, number: int) -> list[str]:
    """The names of a header, which may have commas between quotes."""
    try:
        return next(csv.reader([text]))
    except csv.Error:
        longest = max(map(len, text.split(",")))
        found = f"has a name of {longest:,} characters" if longest > csv.field_size_limit() else "has a carriage return inside"
        advice = "write the names of the variables, separated by commas, and end every line with a line feed"
        raise InputError(f"the header (line {number}) {found}; {advice}", "file-format") from None


def _require_plain(header: Sequence[str]) -> None:
    """Raise unless all columns of a file that Stan did not write are variables: whether they are may depend on later rows."""
    numbers = [name for name in header if _is_number(name)]
    if numbers:
        found = f"the header must have names, got {listed(numbers, 3)}"
        raise InputError(f"{found}; write the names of the variables into the first line", "file-format")
    others = [name for name in header if not name or name in (*CHAIN_NAMES, *DRAW_NAMES) or is_identifier_name(name)]
    if others:
        found = f"the column {others[0]!r} is no variable"
        raise InputError(f"{found}; write one file per chain with its variables only", "file-format")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
