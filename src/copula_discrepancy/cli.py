"""The command line: parse, call, print. Heavy modules load only after the arguments are known to be good."""

import argparse
import math
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `copula-discrepancy` and return its exit code: 0 fine, 1 bad data, 2 wrong usage, 130 stopped."""
    options = _parser().parse_args(arguments)
    if options.version:
        from copula_discrepancy import __version__

        print(__version__)
        return 0
    if options.command is None:
        _parser().print_help()
        return 2
    from copula_discrepancy.errors import InputError

    try:
        with _ended_like_interrupted():
            options.run(options)
    except InputError as error:
        print(f"copula-discrepancy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("copula-discrepancy: stopped", file=sys.stderr)
        return 130
    return 0


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Asked to end, as by `timeout`, a run ends as when interrupted: its workers too, and what is finished is kept."""
    if threading.current_thread() is not threading.main_thread():  # only there may signals be handled
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="copula-discrepancy", description="Does a sample keep the dependence it should keep?")
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser("demo", help="judge four samples with the same target copula")
    demo.add_argument("--draws", type=int, default=10_000, metavar="N", help="draws per sample (default: 10000)")
    demo.add_argument("--seed", type=int, default=1, help="seed of the samples (default: 1)")
    demo.set_defaults(run=_demo)
    again = commands.add_parser("reproduce", help="run the paper's experiments and compare with what it published")
    again.add_argument(
        "experiment", nargs="?", default="all", choices=("all", "experiment1", "experiment2", "experiment3", "overhead"),
        metavar="experiment", help="experiment1, experiment2, experiment3, overhead or all (default: all)",
    )  # fmt: skip
    again.add_argument("--replications", type=int, default=100, metavar="R", help="per size or step size (default: 100)")
    again.add_argument("--sizes", type=_whole_numbers, metavar="N,N,...", help="sample sizes instead of the paper's")
    again.add_argument("--seed", type=int, default=1, help="seed of everything random (default: 1)")
    again.add_argument("--jobs", type=_jobs, default=-1, metavar="J", help="worker processes (default: one per core)")
    again.add_argument("--out", default="reproduction", metavar="FOLDER", help="where results go (default: reproduction)")
    again.set_defaults(run=_reproduce)
    return parser


def _whole_numbers(text: str) -> list[int]:
    """100,1e3 as numbers."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(number.is_integer() for number in numbers):
        raise argparse.ArgumentTypeError(f"whole numbers with commas between, such as 100,1000,10000, not {text!r}")
    return [int(number) for number in numbers]


def _jobs(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number == 0:
        raise argparse.ArgumentTypeError(f"a number of processes, or -1 for one per core, not {text!r}")
    return number


def _reproduce(options: argparse.Namespace) -> None:
    """Tables of ours against published, what they say, and where everything is."""
    from rich.console import Console

    from copula_discrepancy.experiments.report import TITLES, rich_tables
    from copula_discrepancy.experiments.reproduce import reproduce

    try:
        result = reproduce(
            options.experiment, replications=options.replications, sizes=options.sizes, seed=options.seed, n_jobs=options.jobs,
            out=options.out,
        )  # fmt: skip
    except KeyboardInterrupt:
        print(f"copula-discrepancy: what is finished is in {options.out}; the same command goes on from there", file=sys.stderr)
        raise
    console = Console()
    console.width = max(console.width, 80)  # narrower columns would cut numbers off
    for experiment in result.experiments.values():
        console.print(f"[bold]{TITLES[experiment.name]}[/bold]\n")
        for table in rich_tables(experiment.tables):
            console.print(table)
        for sentence in experiment.statements:
            console.print(f"- {sentence}", highlight=False, markup=False)
        console.print()
    if result.comparisons:
        console.print("z is the difference in combined standard errors, * beyond its 95% limit.", highlight=False)
        console.print(result.agreement, highlight=False)
    where = f"Every number, table and figure: {result.folder} (begin with {result.report.name})"
    console.print(where, highlight=False, markup=False)


def _demo(options: argparse.Namespace) -> None:
    """Four samples against Gumbel(2.5): three have the right Kendall's tau, two of those the wrong tails."""
    n, seed = options.draws, options.seed
    from rich import box
    from rich.console import Console
    from rich.table import Table

    import copula_discrepancy as cd

    target = cd.Gumbel(2.5)
    samples = {
        "Gumbel(2.5): target": target,
        "Gaussian, same tau": cd.Gaussian.from_tau(target.tau),
        "Clayton, same tau": cd.Clayton.from_tau(target.tau),
        "Gumbel(1.8): weaker": cd.Gumbel(1.8),
    }
    table = Table(
        title=f"Do the draws keep the dependence of Gumbel(2.5)? tau {target.tau:.1f}, n = {n:,}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("sample", no_wrap=True)
    for heading in ("tau", "level", "p", "shape", "p", "CD"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for label, truth in samples.items():
        result = cd.discrepancy(truth.sample(n, rng=seed), target, iid=True)
        gaps = [cell for gap in (result.level, result.shape) for cell in (f"{gap.value:+.3f}", _p(gap.pvalue))]
        table.add_row(label, f"{result.tau:.2f}", *gaps, f"{result.cd:.3f}", result.verdict)
    console = Console()
    console.print(table)
    console.print("[bold]level[/bold]  is the dependence too strong (+) or too weak (-)?")
    console.print("[bold]shape[/bold]  does it sit in the wrong place? Not 0: wrong family, wrong tails.")
    console.print("CD = |level + shape|. Kendall's tau alone passes the Gaussian and the Clayton")
    console.print("sample; the shape gap does not.")


def _p(pvalue: float) -> str:
    return "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"
