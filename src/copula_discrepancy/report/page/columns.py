"""Pictures of two columns of any kind on a page, with descriptions for readers who do not see them."""

import numpy as np

from copula_discrepancy.compare.wording import per_hundred, shortened
from copula_discrepancy.data.kinds import DATE
from copula_discrepancy.estimate.ranks import kendall_tau
from copula_discrepancy.report.page.pictures import Picture, inline_figures
from copula_discrepancy.report.plots.columns import CLOUD, LEVELS, MOSAIC, MOST_LEVELS, Sample, TwoColumns, day
from copula_discrepancy.report.plots.kinds import draw_columns
from copula_discrepancy.report.plots.mosaics import cell_shares, residuals_of

_WIDE = {CLOUD: 3.4, LEVELS: 3.7, MOSAIC: 3.4}  # inches
_TALL = {CLOUD: 3.65, MOSAIC: 3.75}
_ROW, _ROWS = 0.42, 1.1  # inches of a level, and of what stands above and below all of them
_SAID = 6  # levels, or cells, that a description names
_LABEL = 40  # characters of a label in a description
# What each kind of picture shows, for the paragraph above the pictures.
EXPLAINED = {
    LEVELS: "Numbers by level: the {reference} above each line, the {things} below it; a thick bar is the middle half, the "
    "stroke the median, and bars to the right are the shares of the levels.",
    MOSAIC: "Mosaics: the area of a tile is its share of the rows, a percentage its share of the column; orange tiles are more "
    "frequent than if the two columns were independent, blue ones less.",
}


def column_pictures(pair: TwoColumns, key: str, *, draws_first: bool = False) -> list[Picture]:
    """The picture that suits two columns: one for numbers by level, otherwise one per sample."""
    if pair.picture == LEVELS:
        levels = min(max(len(column.levels) for column in pair.columns), MOST_LEVELS["levels"])
        sizes = [(_WIDE[LEVELS], _ROWS + _ROW * max(levels, 3))]
        said = [_said_levels(pair)]
    else:
        sizes = [(_WIDE[pair.picture], _TALL[pair.picture])] * len(pair.samples)
        said = [_said_mosaic(pair, k) if pair.picture == MOSAIC else _said_cloud(pair, k) for k in range(len(pair.samples))]
    turn = -1 if draws_first else 1

    def draw(axes: object) -> None:
        draw_columns(pair, ax=axes[::turn] if isinstance(axes, list) else axes)

    return inline_figures(draw, sizes=sizes, key=f"{key}-{pair.picture}", alts=said[::turn], whole=pair.picture != CLOUD)


def words_beside(pair: TwoColumns, *, draws_first: bool = False) -> tuple[str, ...]:
    """A few words on each of the pictures."""
    if pair.picture == LEVELS and len(pair.samples) == 2:
        return (f"{pair.samples[0].whose} above each line, {pair.samples[1].whose} below",)
    whose = [sample.title for sample in pair.samples]
    return tuple(whose[:: -1 if draws_first else 1])


def _said_levels(pair: TwoColumns) -> str:
    """The medians of the numbers in the most frequent levels."""
    which = 0 if pair.columns[0].by_level else 1
    leveled, numbers = pair.columns[which], pair.columns[1 - which]
    parts = []
    for k in np.argsort(-pair.shares(which), kind="stable")[:_SAID].tolist():
        medians = [_median(sample, which, k, numbers.kind) for sample in pair.samples]
        parts.append(f"{shortened(leveled.levels[k], _LABEL)} {' and '.join(medians)}")
    more = len(leveled.levels) - len(parts)
    whose = " and in the ".join(sample.whose for sample in pair.samples)
    others = f"; and {more} more" if more else ""
    return f"{numbers.name} by {leveled.name}; medians in the {whose}: {'; '.join(parts)}{others}."


def _median(sample: Sample, which: int, level: int, kind: str) -> str:
    values = sample.values[1 - which][sample.values[which] == level]
    if not values.size:
        return "no rows"
    middle = float(np.median(values))
    return day(middle) if kind == DATE else f"{middle:.4g}"


def _said_mosaic(pair: TwoColumns, place: int) -> str:
    """The tiles that are furthest from independence."""
    first, second = pair.columns
    sample = pair.samples[place]
    shares = cell_shares(pair, sample)
    residuals = residuals_of(shares)
    furthest = np.argsort(-np.abs(residuals), axis=None, kind="stable")[:_SAID]
    parts = []
    for j, k in zip(*np.unravel_index(furthest, shares.shape), strict=True):
        column = float(shares[j].sum())
        if column > 0.0:
            labels = shortened(first.levels[j], _LABEL), shortened(second.levels[k], _LABEL)
            parts.append(f"of {labels[0]}, {per_hundred(shares[j, k] / column)}% are {labels[1]}")
    return f"Mosaic of {second.name} by {first.name} in the {sample.whose}, {sample.counted}: {'; '.join(parts)}."


def _said_cloud(pair: TwoColumns, place: int) -> str:
    sample = pair.samples[place]
    names = pair.columns[0].name, pair.columns[1].name
    varies = sample.n > 1 and all(np.ptp(values) > 0.0 for values in sample.values)
    tau = f"Kendall's tau {kendall_tau(*sample.values):.2f}" if varies else "which do not vary"
    return f"Ranks of {names[1]} against {names[0]} in the {sample.whose}, {sample.counted}, {tau}."
