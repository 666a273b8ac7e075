"""The source of Python's standard library as one stream of symbols that is read once: what is new in it?

Each character is one of six kinds: letter, digit, space, new line, bracket or quote, other sign. A network of spiking
units reads the beginnings of files one after the other, predicts each character and learns from it then; so does a
table that counts what follows the last three kinds. Above, nats per character by file, before it was learned from.
Below, the files that were newest to the network: tables of code points and of numbers stand out. Text is no stream for
such a network, and the picture says so: the table of counts is ahead by 0.08 nats all along, in far less time.
"""

import sys
import sysconfig
from pathlib import Path

import numpy as np

import kullback
from kullback.plots import COLORS, panels, save

KINDS, ORDER, FILES, MOST = 6, 3, 150, 2_000


def kinds(text):
    """Return the kind of each byte."""
    table = np.full(256, 5)
    for kind, some in enumerate((b"_", b"0123456789", b" \t", b"\n\r", b"()[]{}'\"")):
        table[list(some)] = kind
    table[[each for each in range(256) if chr(each).isalpha()]] = 0
    return table[np.frombuffer(text, np.uint8)]


def read():
    """Return names and symbols of the beginnings of some files."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(folder.glob("*.py")) + sorted((folder / "encodings").glob("*.py"))
    paths = [path for path in paths if path.stat().st_size > 1_000]
    some = paths[:: max(len(paths) // FILES, 1)][:FILES]
    return [path.relative_to(folder).as_posix() for path in some], [kinds(path.read_bytes()[:MOST]) for path in some]


def count_ahead(symbols):
    """Return −log p of each symbol under a table of counts of the last few, before it is counted."""
    counts = np.full((KINDS**ORDER, KINDS), 0.2)
    place, found = 0, np.zeros(len(symbols))
    for t, symbol in enumerate(symbols):
        found[t] = np.log(counts[place].sum() / counts[place, symbol])
        counts[place, symbol] += 1
        place = (place * KINDS + symbol) % KINDS**ORDER
    return found


def draw():
    """Read, and draw how new each file was."""
    names, pieces = read()
    network = kullback.SpikingNetwork(n_units=32, n_categories=KINDS, random_state=0)
    network.partial_fit(pieces[0][:, None], continues=True)
    novelty = [network.novelty(piece[:, None]) for piece in pieces[1:]]
    counted = np.split(count_ahead(np.concatenate(pieces)), np.cumsum([len(piece) for piece in pieces])[:-1])[1:]
    by_file, by_count = (np.array([part.mean() for part in parts]) for parts in (novelty, counted))
    half = len(by_file) // 2
    print(f"second half: network {by_file[half:].mean():.3f}, table {by_count[half:].mean():.3f} nats per character")

    figure, axes = panels(2, width=10.0, height=3.0)
    axes[0].plot(by_count, color="0.6", linewidth=1.0, label=f"table of the last {ORDER} symbols")
    axes[0].plot(by_file, color=COLORS["blue"], linewidth=1.2, label=f"network, {network.n_units} units")
    axes[0].set(xlim=(0, len(by_file) - 1), xlabel="file, in the order of reading", ylabel="nats per character")
    axes[0].set_title("The standard library, read once: each file before it was learned from", loc="left")
    axes[0].legend(frameon=False, fontsize=9)
    late = np.argsort(-by_file[20:])[:12] + 20  # the first files are all new
    axes[1].barh(np.arange(len(late)), by_file[late], color=COLORS["blue"])
    axes[1].axvline(np.median(by_file), color=COLORS["black"], linestyle=":", linewidth=1.0)
    axes[1].set_yticks(np.arange(len(late)), [names[1 + place] for place in late])
    axes[1].invert_yaxis()
    axes[1].set(xlabel="nats per character; the dotted line is the median of all files")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "source_stream")
    print(f"The picture is in {png} and {svg}")
