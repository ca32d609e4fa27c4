"""Random inputs for every public function, method and file reader: `python -m tests.fuzzing --inputs 100000 --seed 1`.

Each input is known by its seed and number, and `--only NUMBER` runs it alone. It ends in an answer that keeps its promises
(`tests/fuzz/oracle.py`), or in the library's own error. Anything else is a failure: another error, a warning of another kind,
an answer that is not finite, changed arguments, another answer the second time, a crash, more than 20 seconds.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import copula_discrepancy as cd
from tests.fuzz import commands, copulas, files, oracle, pairs, pictures, rankings, repairs, samplers, sketches, watches
from tests.fuzz.arrays import Fuzz
from tests.fuzz.target import Target

_PARTS = (copulas, pairs, rankings, samplers, pictures, files, commands, repairs, sketches, watches)
ALL = tuple(target for part in _PARTS for target in part.TARGETS)
SECONDS = 20  # of a processor that an input may take
_IDLE = 6  # times as long it may take by the clock, on a machine that others use too
_TWICE = 0.1  # of all inputs are run again, to see that the answer is the same
_CHUNK = 2500  # inputs that a worker is given at a time
_PATIENCE = 2 * _IDLE * SECONDS  # seconds without a word from a worker, after which it hangs where no signal reaches it
_WEIGHTS = np.cumsum([target.weight for target in ALL]) / sum(target.weight for target in ALL)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input: "answer", "refusal" or "failure", with the reason for a failure."""

    number: int
    target: str
    kind: str
    told: str = ""
    seconds: float = 0.0


class TooLong(BaseException):
    """An input exceeded its time limit; not caught by `except Exception`."""


@contextmanager
def _time_limit() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there may signals be handled
        yield
        return

    def stop(*_: Any) -> None:
        raise TooLong

    clocks = ((signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, _IDLE * SECONDS))
    usual = [signal.signal(name, stop) for name, _, _ in clocks]
    for _, timer, limit in clocks:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (name, timer, _), handler in zip(clocks, usual, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(name, handler)


def planned(seed: int, number: int) -> tuple[Target, dict[str, Any], bool]:
    """The call and arguments of an input, and whether it is run twice."""
    fuzz = Fuzz(seed, number)
    target = ALL[int(np.searchsorted(_WEIGHTS, fuzz.rng.random()))]
    twice = fuzz.chance(_TWICE)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return target, target.plan(fuzz), twice


def _print_of(given: Any) -> Any:
    """The content of an argument, to check that it is not modified."""
    if isinstance(given, np.ndarray):
        data = np.asarray(given)
        return given.shape, given.dtype, data.tobytes() if data.dtype.kind != "O" else repr(data.tolist())
    if isinstance(given, pd.DataFrame | pd.Series):
        columns = [given.iloc[:, k] for k in range(given.shape[1])] if isinstance(given, pd.DataFrame) else [given]
        return repr([column.tolist() for column in columns])
    if isinstance(given, pl.DataFrame):
        return repr(given.to_dict(as_series=False))
    if isinstance(given, dict):
        return [(str(name), _print_of(value)) for name, value in given.items()]
    if isinstance(given, list | tuple) and len(given) != 1:  # one of a single item may hold itself
        return [_print_of(item) for item in given]
    return None


def run_one(seed: int, number: int) -> Outcome:
    """Run an input and classify its outcome."""
    try:
        target, arguments, twice = planned(seed, number)
    except Exception as error:  # a defect of the generator must not hide among the refusals
        return Outcome(number, "generator", "failure", "".join(traceback.format_exception(error)[-4:]).strip())
    before = _print_of(arguments)
    begin = time.process_time()

    def outcome(kind: str, told: str = "") -> Outcome:
        return Outcome(number, target.name, kind, told, time.process_time() - begin)

    answer: Any = None
    refused: str | None = None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with _time_limit():
                answer = target.function(**arguments)
        except cd.InputError as error:
            refused = str(error)
        except TooLong:
            return outcome("failure", f"took more than {SECONDS} seconds")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return outcome("failure", "".join(traceback.format_exception(error)[-3:]).strip())
    for warning in said:
        if not issubclass(warning.category, cd.DependenceWarning):
            return outcome("failure", f"{warning.category.__name__}: {warning.message} ({warning.filename}:{warning.lineno})")
    if _print_of(arguments) != before:
        return outcome("failure", "an argument was changed")
    if refused is not None:
        wrong = "\n" in refused or not refused.strip()
        return outcome("failure" if wrong else "refusal", f"an error of several lines: {refused!r}" if wrong else "")
    try:
        with warnings.catch_warnings(), _time_limit():
            warnings.simplefilter("ignore", cd.DependenceWarning)
            target.check(answer, arguments)
            if twice:
                _, again, _ = planned(seed, number)
                oracle.need(oracle.plain(target.function(**again)) == oracle.plain(answer), "another answer the second time")
    except (Exception, TooLong) as error:
        return outcome("failure", "".join(traceback.format_exception(error)[-3:]).strip())
    return outcome("answer")


# ---- many inputs on all cores ------------------------------------------------------------------------------------------


def _work(seed: int, numbers: range, pipe: Connection) -> None:
    """A worker: reports the start and outcome of each input, so that a crash can be attributed to an input."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # libraries in C write there about damaged files
    for number in numbers:
        pipe.send(number)
        pipe.send(run_one(seed, number))
    pipe.close()


class _Worker:
    """A process with some inputs, and the current one."""

    def __init__(self, seed: int, numbers: range) -> None:
        self.numbers, self.at, self.heard = numbers, numbers.start, time.monotonic()
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(target=_work, args=(seed, numbers, theirs))
        self.process.start()
        theirs.close()

    def outcomes(self) -> tuple[list[Outcome], bool]:
        """New messages of the process, and whether it has ended."""
        found = []
        try:
            while self.pipe.poll():
                told = self.pipe.recv()
                self.heard = time.monotonic()
                if isinstance(told, Outcome):
                    found.append(told)
                    self.at = told.number + 1
            if time.monotonic() - self.heard > _PATIENCE:
                self.process.kill()
                raise EOFError
        except EOFError:
            self.process.join()
            return found, True
        return found, False


def run_many(seed: int, first: int, inputs: int, jobs: int) -> Iterator[Outcome]:
    """The outcomes of many inputs, in workers that may crash."""
    left = [range(start, min(start + _CHUNK, first + inputs)) for start in range(first, first + inputs, _CHUNK)][::-1]
    workers: list[_Worker] = []
    while left or workers:
        while left and len(workers) < jobs:
            workers.append(_Worker(seed, left.pop()))
        wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in [*workers]:
            found, ended = worker.outcomes()
            yield from found
            if not ended:
                continue
            workers.remove(worker)
            if worker.at < worker.numbers.stop:  # it died over an input: that one failed, the others go on
                told = f"the interpreter ended with exit code {worker.process.exitcode}"
                yield Outcome(worker.at, "crash", "failure", told)
                left.append(range(worker.at + 1, worker.numbers.stop))


def table(outcomes: list[Outcome]) -> str:
    """Inputs, answers, refusals and failures by target."""
    counts = Counter((outcome.target, outcome.kind) for outcome in outcomes)
    spent: Counter[str] = Counter()
    for outcome in outcomes:
        spent[outcome.target] += outcome.seconds  # type: ignore[assignment]
    lines = [f"{'target':40}{'inputs':>8}{'answers':>9}{'refusals':>10}{'failures':>10}{'ms each':>9}"]
    names = [*sorted({outcome.target for outcome in outcomes}), "all"]
    for name in names:
        answers, refusals, failures = (
            sum(count for (target, kind), count in counts.items() if kind == wanted and name in (target, "all"))
            for wanted in ("answer", "refusal", "failure")
        )
        total = answers + refusals + failures
        each = 1000 * (spent[name] if name != "all" else sum(spent.values())) / total
        lines.append(f"{name:40}{total:8}{answers / total:9.0%}{refusals / total:10.0%}{failures:10}{each:9.1f}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run inputs and report the results; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of all inputs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default: 0)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run this input alone, here, and show it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)
    if options.only is not None:
        target, given, _ = planned(options.seed, options.only)
        print(f"{target.name}({', '.join(f'{name}={value!r:.300}' for name, value in given.items())})")
        outcome = run_one(options.seed, options.only)
        print(outcome.kind, outcome.told)
        return int(outcome.kind == "failure")
    begin = time.monotonic()
    outcomes = []
    for outcome in run_many(options.seed, options.first, options.inputs, options.jobs):
        outcomes.append(outcome)
        if outcome.kind == "failure":
            print(f"--seed {options.seed} --only {outcome.number}  # {outcome.target}\n{outcome.told}\n", flush=True)
    failures = sum(outcome.kind == "failure" for outcome in outcomes)
    print(table(outcomes))
    spent = time.monotonic() - begin
    print(f"{len(outcomes)} inputs in {spent:.0f} s on {options.jobs} workers, seed {options.seed}: {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
