"""Pictures on the page: matplotlib figures as inline SVG in the page's colours, maps as small PNG images."""

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.report.plots.look import BLUE, GREY, ORANGE, PALE, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS = 144  # dots per inch of rasterised points: sharp on high-density screens, at a fifth of the size of SVG
_PIXELS = 110  # CSS pixels per inch: small text is 9 pixels high, and three pictures fit side by side
_UNDATED = {"Date": None, "Creator": None}  # equal pictures have equal SVG
_PAD = 3.0  # points between a picture's text and its edge
_SQUARE = (40.0, 22.7, 194.0)  # left, top and side of a heat map, in points: those of a cloud
# The settings of the style file, in the page's own colours: text and axes follow light and dark mode.
_INK = {
    "#000000": "currentColor",
    "#e4e4e4": "var(--grid)",
    "#ffffff": "var(--paper)",
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREY: "var(--soft)",
    PALE: "var(--faint)",
}


@dataclass(frozen=True)
class Picture:
    """An inline SVG element, a description of what it shows, and how to show its Axes alone elsewhere on the page.

    `anchor` is the id of all that is drawn, `frame` the viewBox of its Axes.
    """

    svg: str
    alt: str
    anchor: str = ""
    frame: str = ""


@contextmanager
def page_style() -> Iterator[None]:
    """The matplotlib settings for all pictures of a page: setting them for each one takes as long as a picture."""
    import matplotlib as mpl

    with styled(), warnings.catch_warnings(), mpl.rc_context({"svg.fonttype": "none"}):
        warnings.filterwarnings("ignore", r"Glyph \d+")  # the browser has the glyphs that matplotlib's font lacks
        yield


def inline_figures(
    draw: Callable[[Any], object],
    *,
    sizes: Sequence[tuple[float, float]],
    key: str,
    alts: Sequence[str],
    whole: bool = False,
) -> list[Picture]:
    """The results of `draw` in one Axes per size, each as a separate picture, which a narrow page can stack.

    Elsewhere on the page a picture is shown without its labels or, with `whole`, with them.
    """
    from matplotlib.figure import Figure

    figures = [Figure(figsize=size, dpi=_DOTS) for size in sizes]  # no pyplot: nothing to close, no window
    axes = [figure.subplots() for figure in figures]
    draw(axes[0] if len(axes) == 1 else axes)
    named = enumerate(zip(figures, alts, strict=True))
    return [_picture(figure, f"{key}-{k}", alt, whole=whole) for k, (figure, alt) in named]


def _picture(figure: "Figure", key: str, alt: str, *, whole: bool) -> Picture:
    svg = _inline_svg(figure, key)  # lays it out
    box, (width, height) = figure.axes[0].get_position(), 72.0 * figure.get_size_inches()
    places = (
        (0.0, 0.0, width, height)
        if whole
        else (box.x0 * width, (1.0 - box.y1) * height, box.width * width, box.height * height)
    )
    return Picture(svg, alt, f"{key}-figure_1", " ".join(f"{place:.1f}" for place in places))


def _inline_svg(figure: "Figure", key: str) -> str:
    """A figure as an <svg> element inside a page, with unique ids and the page's colours."""
    for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
        patch.set(facecolor="none", edgecolor="none")  # transparent: the page is the background
    text = _svg(figure)
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # only markup is rewritten: text between tags is the user's and may look like markup
    parts = re.split(r"(<[^>]*>)", text)
    head, body = parts[1], "".join(_own_markup(part, key) if part.startswith("<") else part.strip("\n ") for part in parts[2:])
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    width = figure.get_figwidth() * _PIXELS
    return f'<svg {links} {box.group()} style="width:{width:.0f}px" aria-hidden="true">{body}'


def _svg(figure: "Figure") -> str:
    """A figure of one Axes as an SVG file, like matplotlib's `print_svg` except for clouds of points, in few colours."""
    from matplotlib.backends.backend_mixed import MixedModeRenderer
    from matplotlib.backends.backend_svg import RendererSVG
    from PIL import Image

    class Renderer(RendererSVG):
        def draw_image(self, gc: Any, x: float, y: float, im: Any, transform: Any = None) -> None:
            # 32 colours halve the size with no visible loss; compression level 9 would save 10% more in ten times the time
            written = io.BytesIO()
            points = Image.fromarray(im[::-1]).quantize(32, method=Image.Quantize.FASTOCTREE)
            points.save(written, "PNG", compress_level=4)
            height, width = (72.0 * side / _DOTS for side in im.shape[:2])
            places = {"x": x, "y": self.height - y - height, "width": width, "height": height}
            writer: Any = self.writer
            writer.element("image", href=_png(written), **{name: f"{place:g}" for name, place in places.items()})

    written = io.StringIO()
    width, height = figure.get_size_inches()
    figure.set_dpi(72)
    vectors, mixed = cast("Any", Renderer), cast("Any", MixedModeRenderer)  # matplotlib has no types for them
    renderer = mixed(
        figure, width, height, _DOTS, vectors(72 * width, 72 * height, written, image_dpi=_DOTS, metadata=_UNDATED)
    )
    _lay_out(figure, renderer)
    figure.draw(renderer)
    renderer.finalize()
    return written.getvalue()


def _lay_out(figure: "Figure", renderer: Any) -> None:
    """Let the Axes fill the figure except for its labels: one pass, where matplotlib's own layouts take two."""
    ax: Any = figure.axes[0]
    outer, whole = ax.get_tightbbox(renderer), figure.bbox
    inner, (across, up) = ax.bbox.frozen(), (ax.xaxis.label, ax.yaxis.label)
    below, beside = inner.y0 - across.get_position()[1], inner.x0 - up.get_position()[0]
    left, bottom = inner.x0 - outer.x0 + _PAD, inner.y0 - outer.y0 + _PAD
    right, top = outer.x1 - inner.x1 + _PAD, outer.y1 - inner.y1 + _PAD
    width, height = whole.width - left - right, whole.height - bottom - top
    ax.set_position((left / whole.width, bottom / whole.height, width / whole.width, height / whole.height))
    ax.apply_aspect()
    # labels keep their distance, which matplotlib would measure again
    ax.xaxis.set_label_coords(0.5, -below / ax.bbox.height)
    ax.yaxis.set_label_coords(-beside / ax.bbox.width, 0.5)


def _own_markup(tag: str, key: str) -> str:
    """A tag with ids that are unique on the page, and the page's colours and font."""
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
    return tag


def square_map(
    colours: NDArray[np.uint8], *, key: str, title: Sequence[str], labels: tuple[str, str], ends: Sequence[str], alt: str
) -> Picture:
    """A heat map of the unit square that looks like the clouds beside it, in a twentieth of matplotlib's time.

    `colours` has the rows of an image, from above; `ends` are the texts at both ends of the colour scale, left to right.
    """
    x, y, side = _SQUARE
    right, bottom, middle = x + side, y + side, x + 0.5 * side
    text = [(x, y - 13.2 + 9.0 * k, 7.5, "start", words) for k, words in enumerate(title)]
    text += [(x + share * side, bottom + 10.5, 8.0, "middle", f"{share:g}") for share in (0.0, 0.5, 1.0)]
    text += [(x - 5.0, bottom + 2.9 - share * side, 8.0, "end", f"{share:g}") for share in (0.0, 0.5, 1.0)]
    text += [(middle, bottom + 21.5, 7.5, "middle", labels[0])]
    text += [(middle - 34.0, bottom + 34.0, 6.25, "end", ends[0]), (middle + 34.0, bottom + 34.0, 6.25, "start", ends[1])]
    words = "".join(
        f'<text x="{left:g}" y="{down:g}" font-size="{size:g}" text-anchor="{anchor}">{escape(said)}</text>'
        for left, down, size, anchor, said in text
    )
    words += (
        f'<text x="{x - 28.0:g}" y="{y + 0.5 * side:g}" font-size="7.5" text-anchor="middle" '
        f'transform="rotate(-90 {x - 28.0:g} {y + 0.5 * side:g})">{escape(labels[1])}</text>'
    )
    ticks = "".join(f"M{x + share * side:g} {bottom:g}v3.5M{x:g} {bottom - share * side:g}h-3.5" for share in (0.0, 0.5, 1.0))
    scale = (
        f'<linearGradient id="{key}-scale"><stop stop-color="{BLUE}"/><stop offset=".5" stop-color="{BLUE}" stop-opacity="0"/>'
        f'<stop offset=".5" stop-color="{ORANGE}" stop-opacity="0"/><stop offset="1" stop-color="{ORANGE}"/></linearGradient>'
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 244.8 262.8" style="width:374px" aria-hidden="true">{scale}'
        f'<image href="{png_image(colours)}" x="{x}" y="{y}" width="{side}" height="{side}" preserveAspectRatio="none"/>'
        f'<path d="M{x} {y}H{right}V{bottom}H{x}Z{ticks}" style="fill:none;stroke:currentColor;stroke-width:.8"/>'
        f'<rect x="{middle - 30.0:g}" y="{bottom + 28.8:g}" width="60" height="6" '
        f'style="fill:url(#{key}-scale);stroke:var(--line);stroke-width:.5"/>{words}</svg>'
    )
    return Picture(svg, alt)


def png_image(colours: NDArray[np.uint8]) -> str:
    """A (height, width, 4) array as a data: URL of a PNG, one pixel per cell; browsers enlarge it without blurring."""
    from matplotlib.image import imsave

    written = io.BytesIO()
    imsave(written, colours, format="png")
    return _png(written)


def _png(written: io.BytesIO) -> str:
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()


def packed(values: NDArray[Any]) -> str:
    """An array's bytes, little endian, as text for the script."""
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()
