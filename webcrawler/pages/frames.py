"""How messages between the crawl and its page workers are cut: each behind its length."""

from __future__ import annotations

from struct import Struct

LENGTH = Struct("<I")
