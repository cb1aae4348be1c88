"""Plots as inline SVG: no script, no font and no picture from anywhere else."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

WIDTH, HEIGHT, MARGIN = 460, 240, 44  # pixels
COLOURS = ("#1f5fbf", "#c2571a", "#3c8d40", "#7a4fa3")
BARS = 24


def lines(title: str, curves: Mapping[str, Mapping[int, float]]) -> str:
    """Curves over depths (k), values from 0 to 1; depths are evenly spaced."""
    depths = list(next(iter(curves.values())))
    parts = [_frame(title), *_grid()]
    for n, depth in enumerate(depths):
        parts.append(f'<text x="{_x(n / max(len(depths) - 1, 1)):.0f}" y="{HEIGHT - 24}" class="m">{depth}</text>')
    for at, (name, values) in enumerate(curves.items()):
        colour = COLOURS[at % len(COLOURS)]
        points = " ".join(
            f"{_x(n / max(len(depths) - 1, 1)):.1f},{_y(values[depth]):.1f}" for n, depth in enumerate(depths)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{MARGIN + 100 * at}" y="{HEIGHT - 6}" fill="{colour}">{escape(name)}</text>')
    return "".join((*parts, "</svg>"))


def histogram(title: str, values: Sequence[float], unit: str) -> str:
    """How many values fall where; the last bar holds all beyond the 99th percentile."""
    highest = max(float(np.percentile(values, 99)), 1e-9)
    counts, _ = np.histogram(np.minimum(values, highest), bins=BARS, range=(0.0, highest))
    parts = [_frame(title)]
    step = (WIDTH - 2 * MARGIN) / BARS
    for n, count in enumerate(counts):
        top = _y(count / counts.max())
        parts.append(
            f'<rect x="{MARGIN + n * step:.1f}" y="{top:.1f}" width="{step - 1:.1f}" height="{_y(0) - top:.1f}" '
            f'fill="{COLOURS[0]}"><title>{int(count)}</title></rect>'
        )
    for share in (0.0, 0.5, 1.0):
        parts.append(f'<text x="{_x(share):.0f}" y="{HEIGHT - 24}" class="m">{share * highest:.0f} {unit}</text>')
    return "".join((*parts, "</svg>"))


def _frame(title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{escape(title)}">'
        f'<text x="{MARGIN}" y="18" class="t">{escape(title)}</text>'
    )


def _grid() -> list[str]:
    return [
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{_y(v):.1f}" y2="{_y(v):.1f}" stroke="#ddd"/>'
        f'<text x="{MARGIN - 6}" y="{_y(v) + 4:.0f}" class="e">{v:g}</text>'
        for v in (0, 0.25, 0.5, 0.75, 1)
    ]


def _x(share: float) -> float:
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def _y(value: float) -> float:
    return HEIGHT - MARGIN - value * (HEIGHT - 2 * MARGIN)
