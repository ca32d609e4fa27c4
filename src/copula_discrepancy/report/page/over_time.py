"""The section of a page on dependence over time, as plain data for the template."""

from typing import Any

from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.over_time_wording import dependence_over_time, time_rows
from copula_discrepancy.report.page.pictures import inline_figures, page_style
from copula_discrepancy.report.plots.lags import panel_titles, plot_lags, worst_variable

_SIZE = (2.9, 2.6)  # inches


def section(result: Pairwise) -> dict[str, Any]:
    """The table by kind and lag, and the variable whose past differs most, lag by lag."""
    head, *lines = time_rows(result)
    variable = worst_variable(result)
    titles = panel_titles(result, variable)
    where = f"in the {result.things} and in the reference"
    alts = [f"Kendall's tau of {variable} against the lag, {title}, {where}." for title in titles]
    with page_style():
        pictures = inline_figures(
            lambda axes: plot_lags(result, variable, ax=axes), sizes=[_SIZE] * len(titles), key="time", alts=alts
        )
    return {
        "title": dependence_over_time(result.lags),
        "heads": head,
        "rows": lines,
        "variable": variable,
        "pictures": pictures,
    }
