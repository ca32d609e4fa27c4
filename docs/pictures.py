"""Pictures that more than one page, or README, shows; `python docs/pictures.py` draws README's."""

import hashlib
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import copula_discrepancy as cd
from copula_discrepancy.compare.wording import chance

STYLE = "copula_discrepancy.style"
README_PICTURE = Path(__file__).parent / "_static" / "same_margins.png"


def same_margins_same_tau() -> Any:
    """Two samples that every table of single variables, and rank correlation, take for one."""
    upper = cd.Gumbel.from_tau(0.5)
    left, right = cd.Rotated(upper, 180).sample(1500, rng=4), upper.sample(1500, rng=11)
    gap = cd.discrepancy(left, right, family="gumbel", iid=True)
    told = ", ".join(
        f"{name} {gap.estimates[name].value:+.2f} ({chance(gap.estimates[name].pvalue)})" for name in ("level", "shape")
    )
    with plt.style.context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.4), sharex=True, sharey=True, layout="constrained")
        for axis, draws, title in zip(axes, (left, right), ("gathers below", "gathers above"), strict=True):
            axis.plot(*cd.pseudo_observations(draws).T, ".", markersize=2.5, alpha=0.6)
            axis.set(title=f"{title}: tau {cd.kendall_tau(*draws.T):.2f}", aspect="equal", xlabel="rank of the first variable")
        axes[0].set_ylabel("rank of the second variable")
        figure.supxlabel(f"the left one against the right one: {told}", fontsize="medium")
    return figure


def content(figure: Any) -> str:
    """A digest of the points and words of a figure: what it shows, however a release of matplotlib paints it."""
    shown = hashlib.sha256()
    for axis in figure.axes:
        for line in axis.lines:
            shown.update(line.get_xydata().round(6).tobytes())
        shown.update(axis.get_title().encode())
    shown.update(figure.get_supxlabel().encode())
    return shown.hexdigest()


def main() -> None:
    """Draw the picture in README anew."""
    figure = same_margins_same_tau()
    figure.savefig(README_PICTURE, dpi=150, metadata={"Software": None, "Description": content(figure)})


if __name__ == "__main__":
    main()
