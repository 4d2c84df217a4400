"""Page work (parse, text, sketch) in processes of its own, so that a crawl uses all cores.

The crawl's process sends a body and gets back what a page is asked for later: links, title, text,
directives, signature. `answers.py` says what that is, `worker.py` is the process, `pool.py` keeps
some of them busy, and alive.

A worker keeps nothing between two pages. One that dies, whatever the reason, is started again and
its pages are read again; a page that several workers died of is called unparseable.
"""

from webcrawler.pages.answers import Questions, ask, fill, read
from webcrawler.pages.pool import PagePool

__all__ = ["PagePool", "Questions", "ask", "fill", "read"]
