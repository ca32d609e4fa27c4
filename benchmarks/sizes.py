"""Sizes of the jobs: those of `make bench`, and tiny ones to check within seconds that every part runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Numbers of draws n, of variables d and of repeats."""

    repeats: int = 9
    tau: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    matrix: tuple[int, int] = (4000, 200)  # n, d
    draws: int = 100_000
    logpdf: tuple[int, ...] = (100_000, 1_000_000)
    sample: int = 1_000_000
    stein: int = 5000
    stein_memory: int = 20_000
    pairs: int = 50
    pairs_repeats: int = 3
    selected: int = 8  # variables whose pairs the peer's selection is timed on, and scaled up
    many: int = 300
    pages: tuple[int, ...] = (50, 300)
    growth_n: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    growth_stein: int = 100_000  # the largest n of what takes n^2 steps
    growth_d: tuple[int, ...] = (10, 30, 100, 300)
    growth_pandas: int = 100  # the largest d of pandas, which takes seconds per hundred variables squared
    grid: int = 15  # decades from 1e-15 to 0.1, and as many from 0.9 to 1 - 1e-15
    newton: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    replications: int = 100
    experiment: str = "all"


FULL = Sizes()
QUICK = Sizes(
    repeats=1, tau=(1000,), matrix=(200, 4), draws=1000, logpdf=(1000,), sample=1000, stein=200, stein_memory=500, pairs=4,
    pairs_repeats=1, selected=3, many=4, pages=(3,), growth_n=(200, 400, 800), growth_stein=400, growth_d=(3, 4, 6),
    growth_pandas=4, grid=3, newton=(100,), replications=2, experiment="experiment1",
)  # fmt: skip
