"""What a parallel crawler is judged by (Cho and Garcia-Molina, Parallel Crawlers, 2002).

N pages were downloaded by all workers, I of them are different ones, U are to be downloaded.
Overlap is (N - I) / I, coverage I / U, communication overhead the URLs exchanged between workers
divided by N. What is to be downloaded nobody knows while a crawl runs: U are the URLs known, I
those that have ended. A download whose ending was refused, because its worker had lost the lease,
counts in N; one that died with its worker is known to the web server only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.ending import PAGE_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.frontier.store import Counts


def describe_workers(
    entries: Sequence[dict[str, Any]], counts: Counts, again: int, now: float
) -> dict[str, Any]:
    """The whole crawl by what its workers tell of themselves, and the live ones by name.

    `again`: endings of URLs that had ended before. `now` is by Redis's clock.
    """
    refused = sum(entry.get("refused", 0) for entry in entries)
    ended = sum(counts.ended.values())
    downloads = sum(counts.ended[outcome] for outcome in PAGE_OUTCOMES) + refused
    unique = max(1, downloads - refused - again)
    alive = [entry for entry in entries if entry["at"] + entry.get("lease_secs", 60.0) > now]
    return {
        "workers": [
            {
                "worker": entry["worker"],
                "pages": entry["pages"],
                "pages_per_second": entry.get("rate", 0.0),
                "leases": entry["leases"],
            }
            for entry in sorted(alive, key=lambda entry: str(entry["worker"]))
        ],
        "overlap": round((again + refused) / unique, 4),
        "coverage": round((ended - again) / max(1, counts.known), 4),
        "exchanged_per_page": _per(entries, "exchanged", downloads),
        "redis_commands_per_page": _per(entries, "commands", downloads),
    }


def _per(entries: Sequence[dict[str, Any]], name: str, downloads: int) -> float:
    total: int = sum(entry.get(name, 0) for entry in entries)
    return round(total / max(1, downloads), 3)
