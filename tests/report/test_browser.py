"""Pages in a browser: nothing is complained of, and every figure is there to see."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import kullback
from kullback.report import write_report
from report.reports import blobs, fitted
from tiers import slow

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
)
#: Written into a copy of the page: where each figure, drawing and text lies, and the color of text on its ground.
PROBE = """<script>
const box = element => { const b = element.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; };
const seen = svg => getComputedStyle(svg.parentElement).display !== 'none';
const figures = [...document.querySelectorAll('figure')].map(figure => {
  const svg = [...figure.querySelectorAll('svg')].find(seen);
  const text = svg.querySelector('text');
  return {id: figure.id, svg: box(svg), texts: [...svg.querySelectorAll('text')].map(box),
          ink: text ? getComputedStyle(text).fill : null};
});
const page = getComputedStyle(document.body).backgroundColor;
const cut = table => ({id: table.id, cut: table.scrollWidth - table.clientWidth});
const tables = [...document.querySelectorAll('.table')].map(cut);
const found = {figures, tables, page, width: document.documentElement.scrollWidth, window: innerWidth};
document.body.dataset.found = JSON.stringify(found);
</script>"""

#: No window is narrower than 500 pixels, but a frame in it is.
FRAME = """<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><body>
<iframe id="frame" style="width: %dpx; height: 800px; border: 0" srcdoc="%s"></iframe>
<script>onload = () => { document.body.dataset.found = frame.contentDocument.body.dataset.found; };</script></body>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: pages are not looked at")


def look(page, folder, width, dark):
    """Return what the probe finds at this width, after nothing was written to the console."""
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text).group()
    probed = text.replace(policy, "").replace("</body>", f"{PROBE}</body>")  # the policy forbids every script
    copy = folder / f"copy-{page.stem}.html"
    copy.write_text(FRAME % (width, html.escape(probed)), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [CHROMIUM, *FLAGS, scheme, f"--user-data-dir={folder / 'profile'}", "--window-size=1300,900"]
    done = subprocess.run(
        [*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=300, check=True
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r'<body data-found="([^"]*)"', done.stdout).group(1)
    return json.loads(html.unescape(found))


def light(color):
    """Return how light a color is, from 0 to 1."""
    return np.mean([int(part) for part in re.findall(r"\d+", color)[:3]]) / 255


@pytest.mark.parametrize("kind", ["GaussianMixture", slow("HMM"), slow("LinearDynamicalSystem")])
def test_every_figure_is_visible_and_the_console_is_silent(kind, tmp_path):
    estimator, X = fitted(kind)
    before = None
    if kind == "GaussianMixture":
        before = [estimator, kullback.GaussianMixture(2, random_state=0).fit(blobs(seed=1))]
    page = write_report(estimator, tmp_path / "page.html", X, before=before)
    for width, dark in ((1200, False), (390, True)):
        found = look(page, tmp_path, width, dark)
        assert found["window"] == width
        assert found["width"] <= found["window"], "the page scrolls sideways"
        assert len(found["tables"]) >= 2
        assert all(table["cut"] <= 0 for table in found["tables"]), found["tables"]
        assert len(found["figures"]) == page.read_text(encoding="utf-8").count("<figure")
        for figure in found["figures"]:
            x, y, wide, high = figure["svg"]
            assert wide > 250, figure["id"]
            assert high > 100, figure["id"]
            assert x >= 0
            assert x + wide <= found["window"]
            for a, b, w, h in figure["texts"]:  # nothing is clipped
                assert x - 1 <= a, figure["id"]
                assert a + w <= x + wide + 1, figure["id"]
                assert y - 1 <= b, figure["id"]
                assert b + h <= y + high + 1, figure["id"]
            assert abs(light(figure["ink"]) - light(found["page"])) > 0.5
        assert (light(found["page"]) < 0.5) == dark
