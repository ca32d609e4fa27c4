"""Pages without what takes nine tenths of their time, for tests that ask about something else on them."""

from copula_discrepancy.report.page import columns, details, pictures

EMPTY = "<svg></svg>"


def not_drawn(patch):
    """Pictures have their words and nothing else: for tests of headings, notes and tables."""

    def named(draw, *, sizes, key, alts, whole=False):
        return [pictures.Picture(EMPTY, alt) for _, alt in zip(sizes, alts, strict=True)]

    for room in (details, columns):
        patch.setattr(room, "inline_figures", named)


def not_written(patch):
    """Pictures are drawn, but not turned into SVG, which is matplotlib's work: for tests of what drawing does."""
    patch.setattr(pictures, "_inline_svg", lambda figure, key: EMPTY)
