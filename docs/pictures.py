"""Pictures that more than one page, or README, shows; `python docs/pictures.py` draws README's."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import copula_discrepancy as cd

STYLE = "copula_discrepancy.plots.style"
README_PICTURE = Path(__file__).parent / "_static" / "same_margins.png"


def same_margins_same_tau() -> Any:
    """Two samples that every table of single variables, and rank correlation, take for one."""
    lower = cd.Rotated(cd.Gumbel.from_tau(0.5), 180)
    upper = cd.Gumbel.from_tau(0.5)
    with plt.style.context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.3), sharex=True, sharey=True, layout="constrained")
        for axis, copula, title in zip(axes, (lower, upper), ("gathers below", "gathers above"), strict=True):
            draws = copula.sample(1500, rng=3)
            axis.plot(*cd.pseudo_observations(draws).T, ".", markersize=2.5, alpha=0.6)
            axis.set(title=f"{title}: tau {cd.kendall_tau(*draws.T):.2f}", aspect="equal", xlabel="rank of the first variable")
        axes[0].set_ylabel("rank of the second variable")
    return figure


def main() -> None:
    """Draw the picture in README anew."""
    same_margins_same_tau().savefig(README_PICTURE, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
