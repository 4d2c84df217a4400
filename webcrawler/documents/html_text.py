"""The text of an HTML tree, with a space wherever a reader sees a gap.

An element's own text content glues `<p>one</p><p>two</p>` together. So a space is put at both
ends of every element that is not known to be part of a line, and the whole is read out at once:
linear in the page, where resiliparse's extractor is quadratic. Small pages take the same time,
pages of 100 kilobytes six sevenths of it; one of 2.4 megabytes a twentieth.
"""

from __future__ import annotations

from typing import Any

from webcrawler.documents.tag_kinds import INLINE_NAMES

_NOT_INLINE = f":not({','.join(INLINE_NAMES)})"
# Elements whose content is no text for readers, though the parser keeps it as text.
_UNSEEN = frozenset({"script", "style", "iframe", "noembed", "noframes"})

_INVISIBLE = frozenset({"script", "style"})  # these do not even make a gap


def text_of(tree: Any) -> str:
    """All text of the body, not yet folded. Changes the tree, but none of its elements."""
    body = tree.body
    if body is None:
        return ""
    space = tree.create_text_node
    for node in body.query_selector_all(_NOT_INLINE):
        if node.tag in _UNSEEN:
            child = node.first_child
            while child is not None:
                node.remove_child(child)
                child = node.first_child
            if node.tag in _INVISIBLE:
                continue
        node.append_child(space(" "))
        node.insert_before(space(" "), node.first_child)
    text: str = body.text
    return text


def fold(text: str) -> str:
    """The text with every run of white space made one space, none at the ends."""
    return " ".join(text.split())
