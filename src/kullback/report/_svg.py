"""Pictures as SVG inside of a page, in the colors of the page."""

import contextlib
import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import matplotlib.style
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from kullback.plots import COLORS

#: Settings under which pictures of a page are drawn, whatever the user's own are.
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small, sharp, and in the font of the page
    "svg.hashsalt": "kullback",
    "font.family": ["DejaVu Sans"],
    "text.parse_math": False,  # a $ in the name of a column is a $
    "axes.formatter.limits": (-4, 6),
}
#: Black has no name here: it is a gray.
_NAMED = {color.lower(): f"var(--{name})" for name, color in COLORS.items() if name != "black"}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_FONT = re.compile(r"'DejaVu Sans'[^;]*")
_REFERENCE = re.compile(r"#([\w.-]+)")


@contextlib.contextmanager
def page_style() -> Iterator[None]:
    """Draw under the settings of a page."""
    with matplotlib.style.context(["default", _SETTINGS]):
        yield


def inline_svg(figure: Figure, prefix: str, label: str) -> Markup:
    """Return a figure as an `<svg>` element without size, network or script, whose ids begin with `prefix`.

    Colors become variables of the page, so that the picture is readable on light and on dark ground.
    """
    file = io.StringIO()
    with warnings.catch_warnings():
        # the page has fonts for characters that matplotlib's lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        FigureCanvasSVG(figure)  # texts are measured as they will be drawn
        layout = figure.get_layout_engine()
        if layout is not None:  # once: saving would draw all of it for the layout, and then again
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(file.getvalue())
    _plain_names(root)
    _drop(root, ("metadata", "style"))
    _few_ids(root, prefix)
    for element in root.iter():
        _rewrite(element)
    for element in root.iter():
        _shared_style(element)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("style", "fill: var(--ink); stroke-linejoin: round; stroke-linecap: butt")
    title = ET.Element("title")
    title.text = label
    root.insert(0, title)
    return Markup(ET.tostring(root, encoding="unicode"))


def _plain_names(root: ET.Element) -> None:
    """Leave out namespaces: inside of HTML an svg element needs none."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in list(element.attrib):
            if "}" in name:
                element.set(name.rpartition("}")[2], element.attrib.pop(name))


def _drop(root: ET.Element, tags: tuple[str, ...]) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in tags:
                parent.remove(child)


def _few_ids(root: ET.Element, prefix: str) -> None:
    """Keep the ids that something refers to, and make them those of this picture alone."""
    used = set()
    for element in root.iter():
        for name in ("href", "clip-path"):
            value = element.get(name, "")
            if "#" in value and not value.startswith("data:"):
                used.update(_REFERENCE.findall(value))
                element.set(name, _REFERENCE.sub(rf"#{prefix}-\1", value))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.set("id", f"{prefix}-{own}")


def _rewrite(element: ET.Element) -> None:
    style = element.get("style")
    for name in ("fill", "stroke"):  # a variable is understood in a style only
        color = element.attrib.pop(name, None)
        if color is not None:
            style = f"{name}: {color}; {style}" if style else f"{name}: {color}"
    if style is not None:
        element.set("style", _FONT.sub("var(--font)", _COLOR.sub(lambda found: _variable(found.group()), style)))
    for name in ("d", "x", "y", "points", "transform"):
        value = element.get(name)
        if value is not None:
            element.set(name, _LONG_NUMBER.sub(lambda found: f"{float(found.group()):.2f}", value))


def _variable(color: str) -> str:
    """Return a color of the palette as a variable; grays by how far they are from white."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    if not red == green == blue:
        return _NAMED.get(color.lower(), color)
    return f"var(--{'ink' if red < 80 else 'muted' if red < 150 else 'faint' if red < 250 else 'page'})"


def _shared_style(parent: ET.Element) -> None:
    """Say the style of many alike once."""
    styles = {child.get("style") for child in parent}
    if parent.tag == "g" and len(parent) > 1 and len(styles) == 1 and all(child.tag == "use" for child in parent):
        (style,) = styles
        if style is not None and parent.get("style") is None:
            parent.set("style", style)
            for child in parent:
                del child.attrib["style"]
