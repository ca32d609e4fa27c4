"""Pictures inside the page: matplotlib's as inline SVG that follows the page's colours, maps as small PNG images."""

import base64
import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.report.plots.look import BLUE, GREY, ORANGE, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS = 144  # dots per inch of what is drawn as points: sharp on a screen with two to a pixel, at a fifth of the size of SVG
_PIXELS = 110  # CSS pixels to an inch: small print is 9 pixels high, and three pictures stand beside each other
# What the style file has, in the page's own colours: text and axes follow light and dark.
_INK = {
    "#000000": "currentColor",
    "#e4e4e4": "var(--grid)",
    "#ffffff": "var(--paper)",
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREY: "var(--soft)",
}


@dataclass(frozen=True)
class Picture:
    """An inline SVG element, and what it shows in words."""

    svg: str
    alt: str


def inline_figures(
    draw: Callable[[Any], object], *, sizes: Sequence[tuple[float, float]], key: str, alts: Sequence[str]
) -> list[Picture]:
    """What `draw` puts into as many Axes as there are sizes, each a picture of its own: a narrow page can stack them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with styled(), warnings.catch_warnings(), mpl.rc_context({"svg.fonttype": "none"}):
        warnings.filterwarnings("ignore", r"Glyph \d+")  # the reader's browser has the signs that matplotlib's font lacks
        # no pyplot: nothing to close, no window
        figures = [Figure(figsize=size, dpi=_DOTS, layout="constrained") for size in sizes]
        axes = [figure.subplots() for figure in figures]
        draw(axes[0] if len(axes) == 1 else axes)
        named = enumerate(zip(figures, alts, strict=True))
        return [Picture(_inline_svg(figure, f"{key}-{k}"), alt) for k, (figure, alt) in named]


def _inline_svg(figure: "Figure", key: str) -> str:
    """A figure as an <svg> element for the middle of a page: its ids its own, its ink the page's."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
        patch.set(facecolor="none", edgecolor="none")  # the page is their paper
    written = io.StringIO()
    drawing: Any = FigureCanvasSVG(figure)
    drawing.print_svg(written, metadata={"Date": None, "Creator": None})  # savefig would draw it twice, once for the layout
    text = written.getvalue()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # only markup is rewritten: what stands between tags are a user's words, which may look like markup
    parts = re.split(r"(<[^>]*>)", text)
    head, body = parts[1], "".join(_own_markup(part, key) if part.startswith("<") else part.strip("\n ") for part in parts[2:])
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    width = figure.get_figwidth() * _PIXELS
    return f'<svg {links} {box.group()} style="width:{width:.0f}px" aria-hidden="true">{body}'


def _own_markup(tag: str, key: str) -> str:
    """A tag with ids that no other picture has, the page's colours and font, and images in few colours."""
    if tag.startswith("</"):
        return tag
    if 'id="' in tag:
        tag = re.sub(r'\bid="', f'id="{key}-', tag)
    if "#" in tag:
        tag = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{key}-", tag)
        tag = re.sub(r"((?:fill|stroke): )(#[0-9a-f]{6})\b", lambda found: found[1] + _INK.get(found[2], found[2]), tag)
    if "DejaVu" in tag:
        tag = re.sub(r"(font(?:-family)?: [^;\"]*?)'?DejaVu Sans'?[^;\"]*", r"\g<1>sans-serif", tag)
    if "\n" in tag:
        tag = re.sub(r"\s*\n\s*", " ", tag)
    if "data:" in tag:
        tag = re.sub(r"data:image/png;base64,([^\"]*)", lambda found: _fewer_colours(found[1]), tag)
    return tag


def _fewer_colours(encoded: str) -> str:
    """A cloud of points in 32 colours and opacities, at a quarter of the size: nobody sees more in it."""
    from PIL import Image

    written = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        image.convert("RGBA").quantize(32, method=Image.Quantize.FASTOCTREE).save(written, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()


def png_image(colours: NDArray[np.uint8]) -> str:
    """A (height, width, 4) array as a data: address of a PNG, one pixel per cell; browsers enlarge it without blurring."""
    from matplotlib.image import imsave

    written = io.BytesIO()
    imsave(written, colours, format="png")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()


def packed(values: NDArray[Any]) -> str:
    """An array's bytes, little endian, as text for a script to read."""
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()
