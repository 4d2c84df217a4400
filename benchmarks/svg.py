"""A small writer of bar charts: no dependency, readable on light and dark pages."""

from __future__ import annotations

from html import escape

LEFT, WIDTH, BAR, GAP = 340, 940, 20, 10
OURS, OTHERS = "#0f766e", "#94a3b8"
_STYLE = """text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#1e293b}
.title{font-size:19px;font-weight:600}.site{font-size:14px;font-weight:600}
.value{fill:#475569;font-size:12px}.foot{fill:#64748b;font-size:11px}"""


def bars(title: str, sites: dict[str, list[tuple[str, float, str]]], foot: str) -> str:
    """Horizontal bars, one group a site, each with its own scale."""
    parts = [f'<text class="title" x="24" y="36">{escape(title)}</text>']
    y = 66
    for site, rows in sites.items():
        parts.append(f'<text class="site" x="24" y="{y}">{escape(site)}</text>')
        y += 14
        most = max(1.0, *(value for _, value, _ in rows))
        scale = (WIDTH - LEFT - 190) / most
        one = LEFT + scale  # where the peer that all are compared with ends
        bottom = y + len(rows) * (BAR + GAP) - GAP
        parts.append(
            f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{y - 4}" y2="{bottom + 4}" '
            'stroke="#cbd5e1" stroke-dasharray="3 3"/>'
        )
        for name, value, label in rows:
            length = max(2.0, value * scale)
            # Not across the dashed line.
            label_at = LEFT + length + 8
            if label_at - 8 < one < label_at + 60:
                label_at = one + 8
            color = OURS if name.startswith("ours") else OTHERS
            middle = y + BAR * 0.72
            parts.append(
                f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>'
                f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3" '
                f'fill="{color}"/><text class="value" x="{label_at:.1f}" '
                f'y="{middle:.0f}">{escape(label)}</text>'
            )
            y += BAR + GAP
        y += 26
    parts.append(f'<text class="foot" x="24" y="{y}">{escape(foot)}</text>')
    height = y + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}"><style>{_STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
