"""Every setting of our own, its default and one line: the table of contents.

`webcrawler.config` is the only reader. Scrapy's own settings keep their names and meaning; the
ones we change are in `webcrawler.settings`, each with its reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from webcrawler.urls import DEFAULT_DROP_PARAMS


class Setting(NamedTuple):
    default: Any
    line: str


SETTINGS: dict[str, Setting] = {
    # -- the frontier
    "FRONTIER_BACKEND": Setting("rocks", "where the frontier is kept: memory, rocks or redis"),
    "FRONTIER_FRONT_QUEUES": Setting(8, "number of front queues, that is of priorities (1-255)"),
    "FRONTIER_WEIGHTS": Setting([], "weight of each front queue; empty: each half the one above"),
    "FRONTIER_ORDER": Setting("breadth", "front queue by depth: breadth or depth first"),
    "FRONTIER_BACK_QUEUES": Setting(0, "back queues to keep filled; 0: 3 x CONCURRENT_REQUESTS"),
    "FRONTIER_BACK_QUEUES_MAX": Setting(20_000, "how far they may grow while no host is ready"),
    "FRONTIER_BATCH": Setting(8, "URLs of a host taken into its back queue at a time"),
    "FRONTIER_HOLD_SECS": Setting(10.0, "a host that must wait longer is held in the store"),
    "FRONTIER_SEED": Setting(0, "seed of the frontier's random draws"),
    "FRONTIER_MEMORY_MB": Setting(128, "memory for the store's block cache and write buffers"),
    "FRONTIER_SEEN_CACHE": Setting(4_000_000, "popular fingerprints kept in memory, 8 bytes each"),
    "FRONTIER_HOST_CACHE": Setting(1_000_000, "host rows kept in memory, 250 bytes each"),
    "FRONTIER_SYNC_SECS": Setting(1.0, "at most this much work is refetched after a power cut"),
    "FRONTIER_BLOOM_URLS": Setting(
        0, "use a Bloom filter for this many URLs as URL-seen test; 0: exact"
    ),
    "FRONTIER_BLOOM_ERROR": Setting(1e-6, "rate of new URLs that the Bloom filter takes for known"),
    "FRONTIER_CHECKPOINT_SECS": Setting(0.0, "make a checkpoint this often; 0: never"),
    "FRONTIER_CHECKPOINTS": Setting(3, "how many checkpoints are kept"),
    # -- many workers: FRONTIER_BACKEND = redis (where Redis is: scrapy-redis's settings)
    "FRONTIER_WORKER": Setting(
        "", "this worker's name and folder in the job folder; empty: a free one"
    ),
    "FRONTIER_STAY": Setting(False, "redis: stay up for more seeds when everything has ended"),
    "FRONTIER_LEASE_SECS": Setting(30.0, "redis: a worker silent for so long has lost its hosts"),
    "FRONTIER_PARTITIONS": Setting(64, "redis: parts that hosts are split into (1-1024)"),
    "FRONTIER_SEEN_BUCKETS": Setting(
        1024, "redis: sets of fingerprints a partition; 512 URLs each stay compact"
    ),
    "REDIS_SENTINELS": Setting([], "host:port of each Sentinel, instead of REDIS_URL"),
    "REDIS_SENTINEL_MASTER": Setting("mymaster", "what the Sentinels call the Redis to use"),
    # -- politeness
    "POLITENESS_MIN_DELAY": Setting(1.0, "seconds between two fetches of a host, at least"),
    "POLITENESS_LATENCY_FACTOR": Setting(1.0, "and at least this many times the last fetch time"),
    "POLITENESS_MAX_DELAY": Setting(60.0, "but that part of the delay is never longer than this"),
    "POLITENESS_CRAWL_DELAY_MAX": Setting(120.0, "longest Crawl-delay of a robots.txt obeyed"),
    "POLITENESS_JITTER": Setting(0.0, "lengthen each delay by up to this share of it, at random"),
    "POLITENESS_BACKOFF": Setting(1.0, "wait after a first failure; doubles with each further one"),
    "POLITENESS_BACKOFF_MAX": Setting(600.0, "longest such wait"),
    "POLITENESS_RETRY_AFTER_MAX": Setting(86_400.0, "longest Retry-After obeyed"),
    "POLITENESS_PARK_AFTER": Setting(10, "failures in a row after which a host is parked"),
    "POLITENESS_PARK_SECS": Setting(1800.0, "how long, the first time; doubles each time"),
    "POLITENESS_PARK_MAX": Setting(86_400.0, "longest parking"),
    "POLITENESS_MAX_PAGES": Setting(0, "pages fetched of one host at most; 0: no limit"),
    "POLITENESS_ADDRESS_DELAY": Setting(
        0.0, "seconds between two fetches from one IP address, whatever the host; 0: no limit"
    ),
    "POLITENESS_OVERRIDES": Setting({}, "other values for a host or a *.domain"),
    # -- URLs
    "URL_MAX_LENGTH": Setting(2048, "longer URLs are not followed"),
    "URL_DROP_PARAMS": Setting(
        list(DEFAULT_DROP_PARAMS), "query parameters that do not make another page; * at the end"
    ),
    "URL_DENY_DOMAINS": Setting([], "domains that are never followed"),
    # -- links
    "LINKS_FOLLOW_NOFOLLOW": Setting(False, "follow links marked nofollow, ugc or sponsored"),
    "LINKS_RESOURCES": Setting(False, "also follow img, script and source"),
    # -- robots
    "ROBOTS_CONTACT": Setting("", "URL or mail address shown to webmasters in the User-Agent"),
    "ROBOTS_CACHE_SECS": Setting(86_400.0, "how long a robots.txt is believed at most"),
    "ROBOTS_CACHE_MIN_SECS": Setting(600.0, "and at least, whatever its Cache-Control says"),
    "ROBOTS_RETRY_SECS": Setting(10.0, "first wait after a robots.txt could not be had"),
    "ROBOTS_UNREACHABLE_DAYS": Setting(
        30.0, "after so long without an answer a robots.txt counts as absent"
    ),
    "ROBOTS_MEMORY_MB": Setting(32, "memory for parsed robots.txt files"),
    "SITEMAPS_ENABLED": Setting(True, "put the URLs of sitemaps named in robots.txt"),
    "SITEMAPS_MAX_URLS": Setting(1_000_000, "URLs taken from the sitemaps of one host at most"),
    # -- what was fetched
    "CONTENTSEEN_ENABLED": Setting(True, "recognise exact duplicates"),
    "NEARDUP_ENABLED": Setting(True, "recognise near-duplicates"),
    "NEARDUP_THRESHOLD": Setting(0.8, "share of agreement that makes a near-duplicate"),
    "NEARDUP_PERMUTATIONS": Setting(200, "length of a sketch"),
    "NEARDUP_SHINGLE_SIZE": Setting(4, "words in a shingle"),
    "NEARDUP_MAIN_CONTENT": Setting(False, "compare the main content without the navigation"),
    "NEARDUP_INDEX": Setting(False, "index near-duplicates too"),
    "NEARDUP_FOLLOW": Setting(True, "follow their links, at the lowest priority"),
    "ANCHORS_ENABLED": Setting(True, "credit link texts to their targets"),
    "INDEX_ENABLED": Setting(True, "make pages searchable"),
    "INDEX_COMMIT_SECS": Setting(10.0, "how soon a page can be found by search"),
    "INDEX_MEMORY_MB": Setting(64, "memory for the index writer"),
    "ARCHIVE_ENABLED": Setting(True, "keep what was fetched as WARC files"),
    "ARCHIVE_MAX_BYTES": Setting(1_000_000_000, "size at which a new WARC file is begun"),
    "PAGE_PROCESSES": Setting(0, "processes for parsing and sketching; 0: none; auto: cores"),
    # -- the name service and the download
    "DNS_TTL": Setting(3600.0, "how long an address is believed"),
    "DNS_NEGATIVE_TTL": Setting(60.0, "how long a failed look-up is believed"),
    "DNS_HOSTS": Setting({}, "answers given without asking: name or *.name to address"),
    "DNS_CACHE_SIZE": Setting(10_000, "names kept"),
    "DNS_DENY_PRIVATE": Setting(
        "auto", "connect to no private or loopback address; auto: unless a seed is at one"
    ),
    "DOWNLOAD_FIRST_BYTE_TIMEOUT": Setting(30.0, "seconds until an answer must begin"),
    "DOWNLOAD_MAX_HEADER_BYTES": Setting(65_536, "size of an answer's headers at most"),
    # -- what a crawl shows and leaves
    "CRAWLS_DIR": Setting("crawls", "where job folders are made when none is named"),
    "REPORT_SECS": Setting(5.0, "how often report.json is rewritten"),
    "PROGRESS_ENABLED": Setting(
        True, "show progress: a live display on a terminal, else log lines"
    ),
    "PROGRESS_SECS": Setting(30.0, "how often a progress line is logged without a terminal"),
}
