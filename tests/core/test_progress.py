"""Progress bars, where there is no terminal any more."""

import errno
import io
import sys

from copula_discrepancy._core.progress import progress_bar


class Closing(io.StringIO):
    """A terminal that may be closed."""

    gone = False

    def write(self, text):
        if self.gone:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


def test_bars_on_a_terminal_that_was_closed_end_no_computation(monkeypatch):
    terminal = Closing()
    monkeypatch.setattr("copula_discrepancy._core.progress._PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    done = []
    with progress_bar(True, "pairs", 3) as tick:
        tick(1)
        assert "pairs" in terminal.getvalue()
        terminal.gone = True
        tick(2)
        done.append(2)
    assert done == [2]
    assert sys.stderr is terminal  # rich gives back what it took over
