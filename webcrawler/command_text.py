"""What commands write: help with examples, and other people's words made harmless.

Pages, archives and robots.txt files are written by strangers, and a terminal obeys what it is
told: none of their control characters, and none of the marks that turn writing around, may reach
it as they are.
"""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from scrapy.commands import ScrapyHelpFormatter

# Controls, marks of direction, and half surrogate pairs, which cannot be written at all.
_HARMFUL = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_harmful = re.compile(_HARMFUL)
_harmful_in_json = re.compile(_HARMFUL.replace("\x00-\x1f", ""))  # json.dumps has escaped these


class ExampleFormatter(ScrapyHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Scrapy's help, with the description and the examples below it as they are written."""


def harmless(text: str) -> str:
    """One line of text in which nothing is left that a terminal would obey."""
    return _harmful.sub("\ufffd", text)


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON for people and programs: letters as they are, what is harmful escaped."""
    return harmless_json(json.dumps(value, indent=indent, ensure_ascii=False))


def harmless_json(text: str) -> str:
    """The same JSON with everything escaped that a terminal would obey."""
    return _harmful_in_json.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
