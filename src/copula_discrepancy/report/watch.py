"""A run watched while it goes on: in a terminal, in a notebook, or by a callback."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import real_number, true_or_false
from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare.pacing import Pace
from copula_discrepancy.compare.pair_targets import read_once
from copula_discrepancy.compare.watch_result import QUIET, WatchUpdate
from copula_discrepancy.compare.watching import Watching
from copula_discrepancy.data.following.opening import follow
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.report.live import live_view
from copula_discrepancy.report.page import content, writing

_REFRESHED = 'http-equiv="refresh"'  # in a page that reads itself again
_REFRESH = 30  # seconds after which a browser reads the page of an unfinished run again
_OF_SHARE = 0.4  # of the share of a core, for the page; the rest is enough for looks
_DISCARDED = "The run began anew: what follows is about draws that were discarded. "
_PICTURED = 3  # pairs with pictures, which take most of a page's time
Show = Callable[[WatchUpdate], None]


def watch(
    source: Any,
    reference: Any = None,
    *,
    family: Any = None,
    method: str = "mle",
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    tail: float = TAIL_SHARE,
    order: int = ORDER,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    exclude: str | Sequence[str] | None = None,
    chains: int | None = None,
    error: float = 0.02,
    every: float = 3.0,
    share: float = 0.25,
    wait: float = 600.0,
    patience: float = 600.0,
    n_jobs: int | None = -1,
    on_update: Show | None = None,
    progress: bool | None = None,
) -> WatchUpdate:
    """Watch the dependence of every pair of variables while a sampler runs, and compare all its draws at the end.

    Draws are read as they come, and compared as `pairwise` does: worst pairs first, with standard errors that hold on chains,
    pairs on which the chains disagree, effective draws, and the time until errors are as small as wanted. Looks take a share of
    one core: they compute the worst pairs and those that changed most anew, and keep the others. The watch ends when the run
    does, or when it is interrupted, and never stops a sampler.

    Parameters
    ----------
    source : path or paths, sampler, store, or iterator
        - Stan CSV files, by name, a folder or a pattern: read from where the last reading ended. Files may appear later.
        - A Zarr store that nutpie or PyMC writes, by its path, or PyMC's ZarrTrace.
        - A netCDF file that is replaced by longer ones.
        - nutpie's sampler, from ``nutpie.sample(model, blocking=False)``.
        - An iterator whose items are further draws of the same chains, such as blocks of NumPyro's or BlackJAX's: anything
          `as_draws` takes, such as dictionaries of arrays (chain, draw, ...).
    reference : optional
        What the draws are compared with: a reference sample, copulas, a correlation matrix, or None; see `pairwise`.
    family, method, iid, confidence, adjust, tail, order : optional
        See `pairwise`.
    var_names, filter_vars, group, coords, exclude : optional
        See `as_draws`; they apply to the reference as well.
    chains : int, optional
        The number of chains that the run will have, if their files appear one after another: it has ended when all have.
    error : float
        The standard error of Kendall's tau that is wanted in every pair, for the time that this will take.
    every : float
        Seconds between two looks, at least.
    share : float
        The share of one core that reading and looking may take, on average; above 0, at most 1.
    wait : float
        Seconds to wait for the source to appear; a sampler that warms up is waited for as long as it takes.
    patience : float
        Seconds without new draws after which the run counts as ended: a sampler that was killed does not say so.
    n_jobs : int, optional
        Threads of the comparison at the end; looks before use one.
    on_update : callable, optional
        Called with a `WatchUpdate` whenever something is new.
    progress : bool, optional
        Show the state: by default in a notebook or on a terminal.

    Returns
    -------
    WatchUpdate
        The last one; its `result` is the `Pairwise` of all draws.

    Raises
    ------
    InputError
        For a source that cannot be followed, columns that change, two runs in one folder, or if no draws come in time.

    See Also
    --------
    pairwise : The comparison at the end.
    WatchUpdate : The state at one moment.

    Notes
    -----
    The answers before the end are about an unfinished run, looked at many times: at a false discovery rate of 5%, some look
    will show a gap by chance sooner or later (Armitage et al., 1969). Stopping a run when its numbers look good selects runs
    whose errors happen to be small, so that its estimates are biased and their standard errors too small; nothing here stops a
    sampler for this reason. Each of these answers therefore has the caveat ``unfinished-run``.

    Chains of different lengths are cut so that most draws are compared: a chain that is a little behind shortens the others,
    one that was killed early is left out, and a note says so. If that is still so at the end, the last answer is about these
    draws; otherwise it equals that of `pairwise`, to the last digit.

    Interrupting (Ctrl-C, or a notebook's stop button) ends the watch, not the sampler.

    References
    ----------
    Armitage, P., McPherson, C. K. and Rowe, B. C. (1969). Repeated significance tests on accumulating data. Journal of the
    Royal Statistical Society A 132, 235-244.

    Examples
    --------
    A sampler that returns blocks of draws, two chains of two variables:

    >>> import copula_discrepancy as cd
    >>> blocks = (cd.Clayton(3.0).sample(400, rng=k).reshape(2, 200, 2) for k in range(5))
    >>> last = cd.watch(blocks, cd.Gumbel(2.5), progress=False)
    >>> last.result.worst.verdict
    'wrong shape, low-low tail too thick, high-high tail too thin'
    """
    pace = checked_pace(every=every, share=share, wait=wait, patience=patience)
    wanted = real_number(error, "error")
    if on_update is not None and not callable(on_update):
        raise InputError(f"on_update must be a function of one argument, a WatchUpdate, got {on_update!r:.60}")
    if progress is not None:
        true_or_false(progress, "progress")
    if not 0.0 < wanted < 1.0:
        raise InputError(f"error must be between 0 and 1, the standard error of a Kendall's tau, got {error!r}")
    selection: dict[str, Any] = {"var_names": var_names, "filter_vars": filter_vars, "coords": coords, "exclude": exclude}
    selection["group"] = group
    aim = read_once(reference, selection)
    watching = Watching(
        follow(source, chains=chains, **selection), aim, pace=pace, error=wanted, n_jobs=n_jobs, family=family, method=method,
        iid=iid, confidence=confidence, adjust=adjust, tail=tail, order=order,
    )  # fmt: skip
    with shown(progress) as show:
        last = run_to_end(watching, show, on_update)
    assert last.result is not None
    for caveat in last.result.caveats:
        warn(DependenceWarning(caveat))
    return last


def checked_pace(*, every: Any, share: Any, wait: Any, patience: Any) -> Pace:
    """How often to look and how long to wait, from what a user passed."""
    numbers = {"every": every, "share": share, "wait": wait, "patience": patience}
    found = {name: real_number(value, name) for name, value in numbers.items()}
    for name, value in found.items():
        if not value >= 0.0:
            raise InputError(f"{name} must be a number of seconds that is not negative, got {numbers[name]!r}")
    if not 0.0 < found["share"] <= 1.0:
        raise InputError(f"share must be above 0 and at most 1, a share of one core, got {share!r}")
    return Pace(**found)


def run_to_end(watching: Watching, show: Show, listener: Show | None = None) -> WatchUpdate:
    """Show every update until the run ends or is interrupted, then the last answer.

    What `show` takes is part of the watch's share of a core; what a user's `listener` takes is not.
    """

    def tell(update: WatchUpdate) -> None:
        with watching.budget.spending():
            show(update)
        if listener is not None:
            listener(update)

    interrupted = False
    try:
        with _interrupts_of_kernels():
            for update in watching.updates():
                tell(update)
    except KeyboardInterrupt:
        interrupted = True
    try:
        with _interrupts_of_kernels():
            if watching.comparable:
                tell(watching.ending)
            last = watching.final(interrupted=interrupted)
    except InputError as error:
        if interrupted and error.code == "too-few-draws":  # there is nothing to answer yet
            raise KeyboardInterrupt from None
        raise
    tell(last)
    return last


@contextmanager
def _interrupts_of_kernels() -> Iterator[None]:
    """Raise the interrupt that came while a compiled kernel was about to return: numba makes a SystemError of it."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


class LivePage:
    """A page that is kept up to date while a run goes on, and is an ordinary one at the end.

    Parameters
    ----------
    path : Path
        The page; an existing one is replaced.
    command : str
        What made it, for the page.
    share : float
        The share of one core that the watch may use, of which the page takes its part.
    clock : callable
        Time in seconds.

    Attributes
    ----------
    trouble : str
        Why the page is not up to date, such as a full disk; empty if it is. A watch goes on without it, and it is tried again.
    """

    def __init__(self, path: Path, command: str, *, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._command, self._share, self._clock = path, command, share, clock
        self._next = clock()
        self.trouble = ""
        self._shown: WatchUpdate | None = None
        self._restarted = False  # the run began anew since

    def close(self, reason: str) -> None:
        """Write the last look once more, with the reason why none follows; browsers need not read it again.

        A page that the last answer has replaced stays as it is, and one that is gone or cannot be read stays so: the reason is
        an error that must be told.
        """
        try:
            goes_on = self._shown is not None and _REFRESHED in self._path.read_text(encoding="utf-8")
        except OSError:
            return
        if self._shown is not None and goes_on:
            so_far = _DISCARDED if self._restarted else f"{self._shown.run_so_far} "
            run = f"{so_far}The watch ended at {time.strftime('%H:%M:%S')}: {reason}."
            self._write(self._shown, run, f"the watch ended: {reason}", ended=reason)

    def __call__(self, update: WatchUpdate) -> None:
        """Write the page if there is a new answer, and time for it."""
        result, begin, last = update.result, self._clock(), self._shown
        if update.final or update.ending:
            return
        if result is None:
            if last is not None and not self._restarted:  # what the page shows is void
                self._restarted = True
                self._write(last, f"{update.sentences()['Run']} {_DISCARDED}", refresh=_REFRESH)
            return
        if begin < self._next:
            return
        # a run that stands still is told, and told again from time to time
        told = last is not None and (not update.silent > QUIET or update.silent < last.silent + 2.0 * _REFRESH)
        told = told and (last is None or (last.silent > QUIET) == (update.silent > QUIET))
        if last is not None and result is last.result and told:
            return
        spent = time.thread_time()
        run = f"{update.sentences()['Run']} Written at {time.strftime('%H:%M:%S')}; this page reloads every {_REFRESH} s."
        self._write(update, run, refresh=_REFRESH)
        if not self.trouble:
            self._shown, self._restarted = update, False
        rest = (time.thread_time() - spent) / (_OF_SHARE * self._share)
        self._next = begin + (max(rest, _REFRESH) if self.trouble else rest)

    def _write(self, update: WatchUpdate, run: str, *notes: str, ended: str = "", refresh: int | None = None) -> None:
        """Write the page of a look with this sentence about the run, if it can be; `ended` is why no look follows."""
        result = update.result
        assert result is not None
        caveats = result.caveats
        if ended:
            last = caveat_of("unfinished-run", f"the watch ended: {ended}; the answer is that of its last look")
            caveats = (last, *(caveat for caveat in caveats if caveat.code != last.code))
        page, numbers = content.of_pairs(
            replace(result, notes=(*notes, *result.notes), caveats=caveats), self._command, pictured=_PICTURED
        )
        said = update.sentences() | {"Run": run}
        page |= {"sentences": {topic: text for topic, text in said.items() if not (ended and topic == "Looks")}}
        page |= {} if refresh is None else {"refresh": refresh}
        try:
            writing.write_page(self._path, page, numbers, force=True)
        except InputError as error:
            if error.code != "file":
                raise
            self.trouble = f"the page is not up to date, and is tried again: {error}"
        else:
            self.trouble = ""


@contextmanager
def shown(progress: bool | None, others: Sequence[Show] = ()) -> Iterator[Show]:
    """A function that shows an update in the notebook or on the terminal that there is, and in `others`."""
    if progress is None:
        progress = _in_notebook() or sys.stderr.isatty()
    if not progress:
        yield _all_of(others)
        return
    with _in_cell() if _in_notebook() else live_view() as view:
        yield _all_of([view, *others])


def _all_of(views: Sequence[Show]) -> Show:
    def show(update: WatchUpdate) -> None:
        for view in views:
            view(update)

    return show


def _in_notebook() -> bool:
    """Whether the code runs in a notebook, whose cells can be updated."""
    shell = sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return current is not None and getattr(current, "kernel", None) is not None


@contextmanager
def _in_cell() -> Iterator[Show]:
    """A function that shows an update in the output of a notebook's cell, in place of the one before."""
    from IPython.display import display

    handle: Any = None
    last = ""

    def show(update: WatchUpdate) -> None:
        nonlocal handle, last
        page = update._repr_html_()
        if handle is None:
            handle = display(update, display_id=True)
        elif page != last:
            handle.update(update)
        last = page

    yield show
