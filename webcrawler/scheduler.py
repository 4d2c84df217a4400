"""Scrapy's scheduler contract on the frontier.

A URL is handed out as a request that carries its `Visit`. Two events end it, and they are not the
same: the request leaves the downloader (whatever the ending: an answer, a failure, refused by a
middleware), and then its host is released; and the request leaves the engine, its callbacks and
pipelines through, and then the URL has ended, with its links, in one commit.

Middlewares may answer with a request of their own. A redirect ends the URL and puts the target; a
retry puts the URL back behind the others of its host. Both wait their host's turn.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.utils.defer import _schedule_coro

from webcrawler.addresses import AddressFinder
from webcrawler.crawl import Crawl
from webcrawler.crawl_log import CrawlLog
from webcrawler.download.shared import get_resolver
from webcrawler.exceptions import StoreError
from webcrawler.frontier.ending import ERRAND, PAGE_OUTCOMES, Ending
from webcrawler.frontier.record import MAX_URL_BYTES, REQUEST, ROBOTS, SITEMAP, Record
from webcrawler.linker import Linker
from webcrawler.politeness import Fetch, parse_retry_after
from webcrawler.robots_gate import (
    INFLATED_BYTES,
    READ_BYTES,
    Errand,
    RobotsGate,
    Wait,
    redirected_sitemap,
)
from webcrawler.serialize import RequestError, pack_request, unpack_request
from webcrawler.urls import complete_seed, host_key, normalize, site_key
from webcrawler.visit import META_KEY, Visit
from webcrawler.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
_MOST_CHANGES = 20  # how often a middleware may send a URL back without calling it a retry


def _or_stop(
    method: Callable[Concatenate[FrontierScheduler, P], R],
) -> Callable[Concatenate[FrontierScheduler, P], R | None]:
    """A store that fails anywhere within ends the crawl, once and in one sentence."""

    @wraps(method)
    def guarded(self: FrontierScheduler, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return method(self, *args, **kwargs)
        except StoreError as error:
            self._stop(error)
            return None

    return guarded


class FrontierScheduler(BaseScheduler):
    """See the module."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._stats = crawler.stats
        self._clock = crawl.clock
        self._leaving: list[Visit] = []
        self._visits: set[Visit] = set()
        self._max_pages = 0
        self._is_closing = False
        # Others who have a part in endings: before the commit they may add to its batch, after
        # it they know that it stands.
        self.on_ending: list[Callable[[Visit, Ending], None]] = []
        self.on_ended: list[Callable[[Visit, Ending], None]] = []
        self.on_refused: list[Callable[[Visit, Ending], object]] = []
        self.before_close: list[Callable[[], None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, Crawl.of(crawler))

    # -- Scrapy's contract

    def open(self, spider: Spider) -> None:
        self._spider = spider
        self._crawl.open()
        self._crawl.scheduler = self
        self._frontier = self._crawl.frontier
        self._store = self._crawl.store
        self._tickets = getattr(self._store, "tickets", None)  # where workers share the limit
        links = self._crawl.config.links
        self.linker = Linker(
            spider,  # type: ignore[arg-type]  # any spider with the few methods the linker uses
            self._store,
            self._crawl.canonicalizer,
            self._crawl.prioritizer,
            depth_limit=links.depth_limit,
            follow_nofollow=links.follow_nofollow,
        )
        self.log = CrawlLog(self._crawl.job.folder if self._crawl.job else None)
        robots = self._crawl.config.robots
        self.robots = self._gate = (
            RobotsGate(
                self._store,
                robots.agent,
                robots.policy,
                self._crawl.canonicalizer.fingerprint,
                memory=robots.memory,
                sitemaps=robots.sitemaps,
                tell=logger.warning,
                count=self._stats.inc_value,
            )
            if robots.obey
            else None
        )
        settings = self._crawler.settings
        self._retries = settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0
        self._max_pages = getattr(getattr(spider, "arguments", None), "max_pages", 0)
        engine = self._crawler.engine
        self._wakeup = Wakeup(engine)
        store: Any = self._store
        self._permit = getattr(store, "permit", None)
        if hasattr(store, "start"):
            store.on_failure = self._stop
            store.is_closing = self._wakeup.is_closing
            store.on_seeds = self._seeds_pushed
            store.seeds_key = self._crawl.config.redis.seeds_key % {"name": spider.name}
            store.tickets.limit = self._max_pages
            store.tickets.under_way = lambda: len(self._visits)
            store.start(asyncio.get_running_loop(), self._wakeup.now)
        if self._crawl.config.address_delay:
            finder = AddressFinder(get_resolver(self._crawler), self._wakeup.now)
            self._frontier.address_of = finder
        engine.downloader.on_fetched = self._fetched  # type: ignore[attr-defined]
        engine.downloader.on_left = self._left  # type: ignore[attr-defined]
        self._crawler.signals.connect(self._spider_error, signals.spider_error)
        self._crawler.signals.connect(self._item_dropped, signals.item_dropped)
        self._crawler.signals.connect(self._item_error, signals.item_error)

    def close(self, reason: str) -> None:
        self._is_closing = True
        self._wakeup.cancel()
        self._end_visits()
        store: Any = self._store
        if hasattr(store, "settle"):
            store.is_common_end = reason in ("finished", "max_pages")
            self._settle(store)
        for visit in list(self._visits):
            # Handed out, but the engine was stopped before it was through with it.
            self._visits.discard(visit)
        self._write_stats()
        for step in (*self.before_close, self.log.close, self._crawl.close):
            try:
                step()
            except StoreError as error:
                # What could not be written is what a crash would lose: nothing that was committed.
                self._stop(error)
            except Exception:
                logger.exception("the crawl could not be closed as it should")  # but is closed

    @_or_stop
    def _settle(self, store: Any) -> None:
        store.settle()

    def has_pending_requests(self) -> bool:
        self._end_visits()
        return self._frontier.has_pending

    @_or_stop
    def next_request(self) -> Request | None:
        self._end_visits()
        if self._max_pages and not self._may_begin_page():
            return None
        now = self._clock()
        while (record := self._frontier.next(now)) is not None:
            request = self._request(record) if self._gate is None else self._gated(record, now)
            if request is not None:
                return request
        earliest = self._frontier.earliest()
        if earliest is not None:
            self._wakeup.at(earliest, now)
        return None

    def enqueue_request(self, request: Request) -> bool:
        return bool(self._enqueue(request))

    @_or_stop
    def _enqueue(self, request: Request) -> bool:
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None and visit in self._visits and not visit.was_answered:
            return self._go_on(visit, request)
        try:
            record = self._record(request)
        except RequestError as error:
            logger.error(str(error))
            self._stats.inc_value("frontier/unstorable")
            return False
        if not self._frontier.put([record]):
            return False
        self._stats.inc_value("frontier/put")
        self._wakeup.now()
        return True

    # -- what our own spiders and pipelines use

    @_or_stop
    def put_seeds(self, urls: Sequence[str]) -> int:
        """Put URLs as seeds; how many were new, None if the store has failed."""
        fingerprint, queue = self._crawl.canonicalizer.fingerprint, self._crawl.prioritizer.queue
        records = [
            Record(url, fingerprint(url), host_key(url), queue(0), is_seed=True) for url in urls
        ]
        new = self._frontier.put(records)
        self._stats.inc_value("frontier/put", new)
        self._wakeup.now()
        return new

    def _seeds_pushed(self, words: list[str]) -> None:
        """URLs pushed to the list that scrapy-redis reads, as they are or as JSON with a `url`."""
        urls = []
        for word in words:
            text = word
            if word.lstrip().startswith("{"):
                with suppress(ValueError, TypeError, KeyError, RecursionError):
                    text = str(json.loads(word)["url"])
            url = complete_seed(text)
            if url is None or len(url) > MAX_URL_BYTES:
                logger.error(f"no URL was pushed: {text[:200]}")
                continue
            urls.append(url)
            admit = getattr(self._spider, "admit", None)
            if admit is not None and self.linker.fingerprint(url) is None:
                admit(url)
                self.linker.forget()
        self.put_seeds(urls)

    def abandon(self, visit: Visit, error: StoreError) -> None:
        """What a page is kept in has failed: it has not ended, and the crawl stops."""
        self._visits.discard(visit)
        self._stop(error)

    # -- robots.txt

    def _gated(self, record: Record, now: float) -> Request | None:
        """The request of a record, or the errand that has to be run before; None: not now."""
        assert self._gate is not None
        if record.kind == ROBOTS:
            return self._errand(record, self._gate.errand_of(record, now), now)
        verdict = self._gate.ask(record.url, now)
        if verdict is None:
            return self._request(record)
        if isinstance(verdict, Wait):
            failure = self._gate.take_failure(record.url)
            if failure:
                self._robots_failed(self._begin(record, Request(record.url), now), failure, now)
            else:
                self._frontier.postpone(record, verdict.until, verdict.cause, now)
            return None
        return self._errand(record, verdict, now)

    def _errand(self, record: Record, errand: Errand, now: float) -> Request:
        request = Request(
            errand.url if record.kind != ROBOTS else record.url,
            callback=self._nothing,
            dont_filter=True,
            meta={
                "dont_redirect": True,
                "dont_retry": True,
                "handle_httpstatus_all": True,
                "download_maxsize": 0,
                "download_truncate": READ_BYTES,
            },
        )
        visit = self._begin(record, request, now)
        visit.errand = errand
        return request

    def _nothing(self, response: Response) -> None:
        """The callback of an errand: its answer was taken when it left the downloader."""

    def _errand_done(self, visit: Visit, result: Any) -> None:
        assert self._gate is not None
        assert visit.errand is not None
        now, record = self._clock(), visit.record
        self._stats.inc_value("robots/fetched")
        if isinstance(result, Request):
            result = ValueError("answered by a request")
        learned = self._gate.answered(visit.errand, visit.request.url, result, now)
        if learned.delay is not None:
            self._set_crawl_delay(visit.errand.host, learned.delay)
        if learned.records:
            self._frontier.put(learned.records)
        failure = self._gate.take_failure(record.url) if record.kind != ROBOTS else ""
        if failure:
            self._robots_failed(visit, failure, now)
            return
        self._visits.discard(visit)
        self._frontier.release(record, visit.fetch, now, again=record.kind != ROBOTS)
        if record.kind == ROBOTS:
            self._frontier.done(Ending(record, ERRAND, now, visit.fetch.status))

    def _robots_failed(self, visit: Visit, failure: str, now: float) -> None:
        """A try of the URL too, so that a host that never answers does not keep it for ever."""
        record = visit.record
        self._frontier.release(record, visit.fetch, now)
        if record.retries < self._retries:
            self._visits.discard(visit)
            self._frontier.retry(record)
            return
        visit.fetch, visit.body_bytes, visit.content_type = Fetch(was_sent=False, status=0), 0, ""
        visit.outcome, visit.reason = "failed", f"robots.txt cannot be had: {failure}"
        self._end(visit)

    def _set_crawl_delay(self, name: str, delay: float) -> None:
        host = self._store.host(name)
        if host is None:
            return
        host.crawl_delay = delay
        self._store.save(host)
        longest = self._frontier.policies.of(name).crawl_delay_maximum
        if delay > longest:
            self._stats.inc_value("robots/crawl_delay_capped")
            logger.warning(
                f"{name} asks for {delay:g} s between two fetches and gets {longest:g} s "
                f"(POLITENESS_CRAWL_DELAY_MAX)"
            )

    # -- requests and records

    def _begin(self, record: Record, request: Request, now: float) -> Visit:
        visit = Visit(record, request, now, self._store.url_of)
        if self._permit is not None:
            visit.may_send = self._permit()
        request.meta[META_KEY] = visit
        self._visits.add(visit)
        return visit

    def _request(self, record: Record) -> Request:
        if record.kind == REQUEST:
            try:
                request = unpack_request(record.payload, self._spider)
            except RequestError as error:
                logger.error(f"{record.url}: {error}")
                request = Request(record.url, dont_filter=True)
        else:
            # Our URLs are in their normal form already: Scrapy need not make them so again.
            request = Request(record.url, dont_filter=True, meta={"verbatim_url": True})
        meta = request.meta
        meta["depth"] = record.depth
        if record.retries:
            meta["retry_times"] = record.retries
        if record.hops:
            meta["redirect_times"] = record.hops
        self._begin(record, request, self._clock())
        return request

    def _record(self, request: Request) -> Record:
        """A record of a request that somebody's spider or middleware made."""
        url = normalize(request.url) or request.url
        depth = request.meta.get("depth", 0)
        if not isinstance(depth, int) or depth < 0:
            depth = 0
        if len(url) > MAX_URL_BYTES:
            raise RequestError(
                f"a request of {url[:200]} … cannot be kept in the frontier and is refused: "
                f"its URL has {len(url)} bytes, more than {MAX_URL_BYTES}"
            )
        fingerprint = self._crawl.canonicalizer.fingerprint(url)
        if request.method != "GET" or request.body:
            fingerprint ^= int.from_bytes(
                self._crawler.request_fingerprinter.fingerprint(request)[:8], "big"
            )
        if request.dont_filter:
            # A URL of its own: the same may be asked for again and again.
            self._unfiltered = getattr(self, "_unfiltered", 0) + 1
            fingerprint ^= hash((self._unfiltered, self._clock())) & 0xFFFF_FFFF_FFFF_FFFF
        visit: Visit | None = request.meta.get(META_KEY)
        return Record(
            url,
            fingerprint,
            host_key(url),
            self._crawl.prioritizer.queue(depth, request.priority),
            depth,
            visit.record.fingerprint if visit is not None else 0,
            payload=pack_request(request, self._spider),
        )

    # -- while a request is under way

    def _fetched(self, request: Request, response: Response | Exception, secs: float) -> None:
        """The downloader: a fetch was made, however it went."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None:
            return
        if visit.errand is not None:
            # On the wire it is cut at READ_BYTES; this bounds what those inflate to.
            request.meta["download_maxsize"] = INFLATED_BYTES
        if isinstance(response, Exception):
            is_nameless = isinstance(response, CannotResolveHostError)
            visit.fetch = Fetch(was_sent=not is_nameless, seconds=secs, status=0)
            visit.reason = f"{type(response).__name__}: {response}"
            return
        retry_after = None
        if response.status in (429, 503):
            retry_after = parse_retry_after(response.headers.get("Retry-After"), self._clock())
        visit.fetch = Fetch(
            was_sent=True,
            seconds=secs,
            status=response.status,
            retry_after=retry_after,
            address=str(response.ip_address or ""),
        )
        visit.body_bytes = len(response.body)
        visit.content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")

    @_or_stop
    def _left(self, request: Request, result: Any) -> None:
        """The downloader: a request left it. Its host may be hit again, after its delay."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit not in self._visits or visit.request is not request:
            return
        if visit.errand is not None:
            self._errand_done(visit, result)
            return
        visit.was_answered = result is not None and not isinstance(result, Request | Exception)
        if isinstance(result, IgnoreRequest) and not visit.outcome:
            visit.outcome, visit.reason = "refused", str(result) or type(result).__name__
        elif isinstance(result, Exception) and not visit.reason:
            visit.reason = f"{type(result).__name__}: {result}"
        elif visit.was_answered and not visit.fetch.was_sent:
            # By a cache, say.
            visit.fetch = Fetch(was_sent=False, status=result.status)
            visit.body_bytes = len(result.body)
            visit.content_type = (result.headers.get("Content-Type") or b"").decode("latin-1")
        now = self._clock()
        self._frontier.release(visit.record, visit.fetch, now)
        visit.has_left = True
        self._leaving.append(visit)

    def _go_on(self, visit: Visit, request: Request) -> bool:
        """A middleware answered with a request instead of a response."""
        record = visit.record
        if request.meta.get("redirect_times", 0) > record.hops or request.url != visit.request.url:
            return self._redirect(visit, request)
        retries = request.meta.get("retry_times", 0)
        if retries <= record.retries:
            # Somebody's own middleware: the same URL, but with other headers, say.
            retries = record.retries + 1
            try:
                if retries > _MOST_CHANGES:
                    raise RequestError(f"{request} was sent back {retries} times by a middleware")
                record.payload = pack_request(request, self._spider)
            except RequestError as error:
                logger.error(str(error))
                visit.outcome, visit.reason = "failed", str(error)
                return False
        record.retries = retries - 1
        self._visits.discard(visit)
        self._frontier.retry(record)
        self._stats.inc_value("frontier/retry")
        return True

    def _redirect(self, visit: Visit, request: Request) -> bool:
        visit.outcome, visit.links = "redirect", []
        record = visit.record
        if record.kind == REQUEST:
            try:
                target: Record | None = self._record(request)
                assert target is not None
                target.hops = record.hops + 1
            except RequestError as error:
                logger.error(str(error))
                target = None
        else:
            url = normalize(request.url)
            if url is not None and record.is_seed:
                self._admit(record.url, url)
            if url is not None and record.kind == SITEMAP:
                target = redirected_sitemap(record, url, self._crawl.canonicalizer.fingerprint(url))
            else:
                target = self.linker.redirect(record, url) if url is not None else None
        if target is None:
            visit.reason = f"target out of scope: {request.url}"
            return False
        visit.reason = target.url
        visit.links = [target]
        return True

    def _admit(self, seed: str, target: str) -> None:
        """A seed that moved within its site takes the crawl's scope along."""
        here, there = host_key(seed), host_key(target)
        if self.linker.fingerprint(target) is None and site_key(here) == site_key(there):
            self._spider.admit(target)  # type: ignore[attr-defined]
            self.linker.forget()
            if self._crawl.job is not None:
                admitted = self._crawl.job.state.get("admitted", [])
                self._crawl.job.update(admitted=[*admitted, target])

    # -- endings

    def _spider_error(self, failure: Any, response: Any, **kwargs: Any) -> None:
        request = getattr(response, "request", None)
        visit = request.meta.get(META_KEY) if request is not None else None
        if visit is not None and visit.page is None:
            visit.outcome, visit.reason = "failed", f"callback: {type(failure.value).__name__}"

    def _item_dropped(self, item: Any, exception: Exception, **kwargs: Any) -> None:
        visit = getattr(item, "visit", None)
        if visit is not None and item.outcome == "stored":
            item.outcome, item.reason = "filtered", f"dropped: {exception}"

    def _item_error(self, item: Any, failure: Any, **kwargs: Any) -> None:
        visit = getattr(item, "visit", None)
        if visit is not None:
            item.outcome, item.reason = "failed", f"pipeline: {type(failure.value).__name__}"

    @_or_stop
    def _end_visits(self) -> None:
        """End the URLs whose requests have left the engine."""
        if not self._leaving:
            return
        waiting = []
        for visit in self._leaving:
            if visit not in self._visits:
                continue  # a retry
            if self._wakeup.has_left(visit.request):
                self._end(visit)
            else:
                waiting.append(visit)
        self._leaving = waiting

    def _end(self, visit: Visit) -> None:
        self._visits.discard(visit)
        ending = self._ending(visit)
        for listener in self.on_ending:
            listener(visit, ending)
        # The line first: after a crash between the two the page is fetched again and has two
        # lines, which is better than none.
        self.log.write(visit, ending)
        self._frontier.done(ending, lambda stands: self._ended(visit, ending, stands))
        if self._max_pages and self._has_all_pages():
            self._close_for_max_pages()

    def _ended(self, visit: Visit, ending: Ending, stands: bool) -> None:
        """A commit was answered: it stands, or was refused because the lease had been lost."""
        listeners: Sequence[Callable[[Visit, Ending], object]]
        listeners = self.on_ended if stands else self.on_refused
        for listener in listeners:
            listener(visit, ending)
        visit.let_go()
        kind = f"ended/{ending.outcome}" if stands else "refused_commits"
        self._stats.inc_value(f"frontier/{kind}")

    def _ending(self, visit: Visit) -> Ending:
        page = visit.page
        was_fetched = visit.fetch.was_sent or visit.was_answered
        status = visit.fetch.status if was_fetched else 0
        ending = Ending(visit.record, visit.outcome, self._clock(), status)
        if page is not None:
            ending.outcome = page.outcome
            ending.digest = page.digest
            ending.of = page.of_fingerprint
            ending.batch = page.batch
            visit.reason = page.reason
            if visit.links is None and page.outcome not in ("duplicate", "failed"):
                visit.links = self.collect(page)
        elif not ending.outcome:
            is_fine = 200 <= visit.fetch.status < 300 and visit.was_answered
            ending.outcome = "stored" if is_fine else "failed"
            if visit.fetch.status == 304:
                ending.outcome = "not_modified"
        ending.links = visit.links or []
        return ending

    def collect(self, page: Any) -> list[Record]:
        """The records of a page's links; a fault in a spider's methods costs only the links."""
        if page.is_nofollow:
            return []
        try:
            lower = 0
            if page.outcome == "near_duplicate":
                if not self._crawl.config.content.follow_near_duplicates:
                    return []
                lower = self._crawl.prioritizer.queues
            return self.linker.records(page, lower)
        except Exception:
            logger.exception(f"the links of {page.url} were not found")
            self._stats.inc_value("frontier/links_failed")
            return []

    def _stop(self, error: StoreError) -> None:
        """The store cannot go on: say it once, and end."""
        if self._crawl.error is None:
            self._crawl.error = error
            logger.critical(str(error))
        if not self._is_closing:
            self._is_closing = True
            _schedule_coro(self._crawler.engine.close_spider_async(reason="store"))

    # -- limits and figures

    @property
    def _pages(self) -> int:
        ended = self._store.counts.ended
        return sum(ended[outcome] for outcome in PAGE_OUTCOMES)

    def _may_begin_page(self) -> bool:
        """Whether one more page could not become one too many."""
        if self._has_all_pages():
            self._close_for_max_pages()
            return False
        if self._tickets is not None:
            return bool(self._tickets.may_begin())
        return self._pages + len(self._visits) < self._max_pages

    def _has_all_pages(self) -> bool:
        if self._tickets is not None:
            return bool(self._tickets.is_used_up)
        return self._pages >= self._max_pages

    def _close_for_max_pages(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            _schedule_coro(self._crawler.engine.close_spider_async(reason="max_pages"))

    def _write_stats(self) -> None:
        counts = self._store.counts
        for name in ("known", "waiting", "frozen", "hosts"):
            self._stats.set_value(f"frontier/{name}", getattr(counts, name))
        for reason, count in self.linker.filtered.items():
            self._stats.set_value(f"links/filtered/{reason}", count)
