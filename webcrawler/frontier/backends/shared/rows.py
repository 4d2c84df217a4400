"""What stands in Redis, read back: waiting records, records in hand, pages that ended."""

from __future__ import annotations

from webcrawler.frontier.backends.shared.keys import HOLDER, VIA
from webcrawler.frontier.ending import EndedPage
from webcrawler.frontier.record import Record


def unpack_record(data: bytes, host: str, queue: int, sequence: int) -> Record:
    """A record as it waits in Redis."""
    return Record.unpack(data[: -VIA.size], host, queue, sequence)


def unpack_page(row: bytes) -> EndedPage:
    """The row of a page, which says first who ended it."""
    return EndedPage.unpack(row[HOLDER.size :])


def unpack_hand(kept: bytes, field: bytes) -> Record:
    """The record of an entry of a hand: MessagePack of sequence, queue, host, lease, record."""
    head, _, _ = kept.partition(field)
    data = kept[len(head) - 5 :]
    # A fixed array of five, the host third and the record last.
    at = 1
    at += {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}.get(kept[at], 1)
    k = kept[at] if kept[at] < 0x80 else kept[at + 1]
    at += 1 if kept[at] < 0x80 else 2
    size = kept[at] & 0x1F if kept[at] < 0xC0 else kept[at + 1]
    at += 1 if kept[at] < 0xC0 else 2
    return unpack_record(data, kept[at : at + size].decode(), k, 0)
