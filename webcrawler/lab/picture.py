"""A simulated crawl over time: a line of blocks for a terminal, an SVG for a page."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.lab.simulation import Outcome

_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH, _LEFT, _RIGHT = 960, 72, 936
_TALL, _GAP, _TOP = 170, 66, 92  # of a panel; between two; above the first
_DECADES = 6  # at most so many powers of ten are shown
_STYLE = (
    "text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:#475569}"
    ".title{font-size:19px;font-weight:600;fill:#0f172a}"
    ".panel{font-size:13px;font-weight:600;fill:#1e293b}.foot{font-size:11px;fill:#64748b}"
)


def sparkline(values: Sequence[float], width: int = 72) -> str:
    """The values in `width` characters, each the mean of its stretch, on a logarithmic scale."""
    if not values or max(values) <= 0:
        return ""
    step = max(1, -(-len(values) // width))
    stretches = [values[i : i + step] for i in range(0, len(values), step)]
    means = [sum(stretch) / len(stretch) for stretch in stretches]
    low, high = _decades(means)
    return "".join(
        _BLOCKS[max(1, round(8 * _height(mean, low, high)))] if mean > 0 else " " for mean in means
    )


def svg(title: str, outcome: Outcome, days: float, foot: str) -> str:
    """Two panels above each other, on logarithmic scales: pages a second, and URLs that wait."""
    rates = [count / outcome.bucket_secs for count in outcome.buckets]
    waits = [*outcome.waits, *[0] * (len(rates) - len(outcome.waits))]
    bottom = _TOP + 2 * _TALL + _GAP
    height = bottom + 62
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#fff"/>'
        f'<text class="title" x="24" y="36">{escape(title)}</text>\n'
        + _panel("pages a second", rates, _TOP, days, "#0f766e")
        + _panel("URLs waiting, at most", waits, _TOP + _TALL + _GAP, days, "#b45309")
        + f'<text class="foot" x="24" y="{height - 16}">{escape(foot)}</text></svg>\n'
    )


def _panel(name: str, values: Sequence[float], top: int, days: float, color: str) -> str:
    """A step curve with the area below it, a line for every power of ten and marks for days."""
    low, high = _decades(values)
    bottom = top + _TALL
    step = (_RIGHT - _LEFT) / max(1, len(values))
    curve = " ".join(
        f"{x:.1f},{bottom - _TALL * _height(value, low, high):.1f}"
        for i, value in enumerate(values)
        for x in (_LEFT + i * step, _LEFT + (i + 1) * step)
    )
    parts = [f'<text class="panel" x="24" y="{top - 16}">{escape(name)}</text>']
    for power in range(low, high + 1):
        y = bottom - _TALL * (power - low) / (high - low)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e2e8f0"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{_power(power)}</text>'
        )
    marks = 6
    for mark in range(marks + 1):
        x = _LEFT + (_RIGHT - _LEFT) * mark / marks
        anchor = "end" if mark == marks else "middle"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="#94a3b8"/>'
            f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="{anchor}">'
            f"day {days * mark / marks:.3g}</text>"
        )
    parts.append(
        f'<polygon points="{_LEFT},{bottom} {curve} {_RIGHT},{bottom}" fill="{color}" '
        f'fill-opacity="0.18"/><polyline points="{curve}" fill="none" stroke="{color}" '
        f'stroke-width="1.6" stroke-linejoin="round"/>'
    )
    return "\n".join(parts) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten that the values lie between."""
    some = [value for value in values if value > 0] or [1.0]
    high = math.ceil(math.log10(max(some)))
    low = math.floor(math.log10(min(some)))
    return max(min(low, high - 1), high - _DECADES), high


def _height(value: float, low: int, high: int) -> float:
    """From 0 at the lowest power of ten to 1 at the highest; nothing at all is 0 too."""
    if value <= 0:
        return 0.0
    return min(1.0, max(0.0, (math.log10(value) - low) / (high - low)))


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10**power:.{-power}f}"
