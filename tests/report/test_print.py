"""Pages on paper: nothing is cut by the end of a sheet or by its edge, and colors are those of paper."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import kullback
from kullback import models
from kullback.families import Gaussian
from kullback.report import write_report
from report.reports import CHAIN
from report.test_browser import FLAGS

CHROMIUM = shutil.which("chromium")
#: Figures and tables, which must stay whole, and the last header of each table, which must be on the sheet.
PARTS = re.compile(r'<(?:figure|div class="table[^"]*") id="([\w-]+)"[^>]*>')
LAST_HEADER = "</th></tr></thead>"
LINK = re.compile(r"/Rect \[([-\d. ]+)\]\s*/A <<[^>]*/URI \(http://part/([\w-]+)\)")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: pages are not printed")


def with_links(text):
    """Lay a link over each part: a printed file says where on its sheets each piece of a link is."""
    assert text.count("</style>") == 1
    style = "figure, .table { position: relative } a.over { position: absolute; inset: 0 }"
    text = text.replace("</style>", f"{style}</style>")
    text = text.replace(LAST_HEADER, f'<a href="http://part/edge">|</a>{LAST_HEADER}')
    return PARTS.sub(lambda part: f'{part.group()}<a class="over" href="http://part/{part.group(1)}"></a>', text)


def printed(text, folder):
    """Return the file that is printed, without its dates."""
    page, paper = folder / "page-to-print.html", folder / "paper.pdf"
    page.write_text(text, encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer"]
    subprocess.run([*command, f"--print-to-pdf={paper}", page.as_uri()], capture_output=True, timeout=300, check=True)
    return re.sub(r"/(?:Creation|Mod)Date \([^)]*\)", "", paper.read_bytes().decode("latin-1"))


def write_long_page(path):
    """Write a page of several sheets, with pictures of all shapes, and with tables that are wider than a sheet."""
    rng, columns = np.random.default_rng(0), 5
    means = rng.normal(0, 4, (2, columns))
    names = [f"a column with a name of its own that is quite long {k}" for k in range(columns)]
    X = pd.DataFrame(rng.normal(size=(60, columns)) + means[0], columns=names)
    chain = models.HiddenMarkovModel(*map(np.array, CHAIN), Gaussian(means, np.tile(np.eye(columns), (2, 1, 1))))
    return write_report(kullback.GaussianHMM.from_model(chain), path, X, lengths=[25, 35])


def without_numbers(paper):
    """Return a printed page without the numbers of its nodes, which the browser counts from one start to the next."""
    return re.sub(r"node\d{8}", "node", paper)


@pytest.mark.slow
def test_parts_are_whole_and_on_the_sheet_and_light(tmp_path):
    text = write_long_page(tmp_path / "page.html").read_text(encoding="utf-8")
    paper = printed(with_links(text), tmp_path)
    names = PARTS.findall(text)
    found = [(name, [float(edge) for edge in box.split()]) for box, name in LINK.findall(paper)]
    assert len(names) > 10
    assert sorted(name for name, _ in found if name != "edge") == sorted(names), "a part is on two sheets"
    assert sum(name == "edge" for name, _ in found) == text.count(LAST_HEADER)
    sheets = re.findall(r"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper)
    assert len(sheets) > 2
    width, height = map(float, sheets[0])
    for name, (left, low, right, high) in found:
        assert 0 < left < right < width, name
        assert 0 < low < high < height, name
        if name == "edge":
            assert high - low > 10, "letters are too small: the page was shrunk to its widest table"
        elif f'<figure id="{name}"' in text:
            assert right - left > 0.4 * width, name

    # some browsers print in dark colors for those who prefer them; this one does if it is told so
    dark = "@media (prefers-color-scheme: dark)"
    assert dark in text
    assert without_numbers(printed(with_links(text.replace(dark, "@media all")), tmp_path)) == without_numbers(paper)
