"""Throughput over time: a line of blocks for a terminal, an SVG for a page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 320, 70, 56


def sparkline(values: Sequence[float], width: int = 72) -> str:
    """The values in `width` characters, each the mean of its stretch."""
    if not values or max(values) <= 0:
        return ""
    step = max(1, -(-len(values) // width))
    means = [sum(values[i : i + step]) / step for i in range(0, len(values), step)]
    most = max(means)
    return "".join(_BLOCKS[min(8, -(-int(8 * mean * 1000) // int(most * 1000)))] for mean in means)


def svg(title: str, rates: Sequence[float], days: float, foot: str) -> str:
    """An area of pages a second over days, on a scale that starts at zero."""
    most = max(rates, default=0.0) or 1.0
    right, bottom = _WIDTH - 24, _HEIGHT - 52
    step = (right - _LEFT) / max(1, len(rates))
    tall = bottom - _TOP
    points = " ".join(
        f"{_LEFT + i * step:.1f},{bottom - tall * rate / most:.1f} "
        f"{_LEFT + (i + 1) * step:.1f},{bottom - tall * rate / most:.1f}"
        for i, rate in enumerate(rates)
    )
    marks = []
    for part in range(5):
        y = bottom - tall * part / 4
        x = _LEFT + (right - _LEFT) * part / 4
        marks.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{y:.0f}" y2="{y:.0f}" stroke="#e2e8f0"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{most * part / 4:,.0f}</text>'
            f'<text x="{x:.0f}" y="{bottom + 20}" text-anchor="middle">'
            f"day {days * part / 4:g}</text>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}"><style>text{{font:12px system-ui,sans-serif;'
        "fill:#334155}.title{font-size:17px;font-weight:600}</style>"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#fff"/>'
        f'<text class="title" x="24" y="32">{escape(title)}</text>{"".join(marks)}'
        f'<polygon points="{_LEFT},{bottom} {points} {right},{bottom}" fill="#0f766e" '
        f'fill-opacity="0.75"/><text x="24" y="{_HEIGHT - 12}">{escape(foot)}</text></svg>\n'
    )
