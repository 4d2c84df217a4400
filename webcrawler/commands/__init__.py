"""Commands of the project. Scrapy imports this package first, and then what takes its time."""

from __future__ import annotations

from webcrawler.interrupt import end_quietly

end_quietly()
