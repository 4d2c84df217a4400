"""The project's Scrapy settings. What differs from Scrapy's defaults says why.

Settings of our own and their defaults: `webcrawler.defaults`.
"""

from webcrawler import __version__

BOT_NAME = "webcrawler"
SPIDER_MODULES = ["webcrawler.spiders"]
NEWSPIDER_MODULE = "webcrawler.spiders"
COMMANDS_MODULE = "webcrawler.commands"
USER_AGENT = f"webcrawler/{__version__}"

# The frontier instead of a priority queue. It does the URL-seen test too.
SCHEDULER = "webcrawler.scheduler.FrontierScheduler"
DUPEFILTER_CLASS = "scrapy.dupefilters.BaseDupeFilter"

# The scheduler owns politeness: it hands out one URL of a host at a time and keeps the delays,
# also over restarts and workers. A second delay in the downloader could only be wrong.
DOWNLOAD_DELAY = 0
AUTOTHROTTLE_ENABLED = False
DOWNLOADER = "webcrawler.download.downloader.Downloader"
CONCURRENT_REQUESTS = 64
CONCURRENT_REQUESTS_PER_DOMAIN = 64

# asyncio with uvloop, and our own handler on aiohttp: several times the pages a second.
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
DOWNLOAD_HANDLERS = {
    "http": "webcrawler.download.handler.AiohttpHandler",
    "https": "webcrawler.download.handler.AiohttpHandler",
}
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 32 << 20
DOWNLOAD_WARNSIZE = 0  # a crawler of the web meets large files all day

# The engine starts this many tasks for every response, and a page is one item.
CONCURRENT_ITEMS = 1

ROBOTSTXT_OBEY = True
COOKIES_ENABLED = False  # a crawler has no sessions, and cookies make pages depend on the path
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False  # a crawl opens no port; `scrapy frontier` uses a private socket
REDIRECT_MAX_TIMES = 10
RETRY_TIMES = 2
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"  # crawl.log has it
# The documents package reads meta refresh as a link, without a regular expression over the page.
METAREFRESH_ENABLED = False
# Written by our own progress extension.
LOGSTATS_INTERVAL = 0
LOG_LEVEL = "INFO"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False  # report.json and the last lines say it in fewer words; -s STATS_DUMP=1
LOG_FORMATTER = "webcrawler.logformatter.QuietFormatter"
FEED_EXPORT_ENCODING = "utf-8"

DOWNLOADER_MIDDLEWARES = {
    # Ours keeps a durable cache, counts the fetch against the host's delay and says why.
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "webcrawler.middlewares.robots.RobotsMiddleware": 100,
    "webcrawler.middlewares.directives.DirectivesMiddleware": 585,
}
SPIDER_MIDDLEWARES: dict[str, int] = {}

# In the order of the textbook; each switches itself off by its own setting.
ITEM_PIPELINES = {
    "webcrawler.pipelines.sitemaps.SitemapsPipeline": 50,
    "webcrawler.pipelines.content.ContentSeenPipeline": 100,
    "webcrawler.pipelines.read.ReadPipeline": 150,
    "webcrawler.pipelines.directives.DirectivesPipeline": 200,
    "webcrawler.pipelines.neardup.NearDuplicatesPipeline": 300,
    "webcrawler.pipelines.anchors.AnchorsPipeline": 400,
    "webcrawler.pipelines.index.IndexPipeline": 500,
    "webcrawler.pipelines.archive.ArchivePipeline": 600,
    "webcrawler.pipelines.frontier.FrontierPipeline": 900,
}

EXTENSIONS = {
    # It pickles into the job folder; ours keeps nothing that could run code when read.
    "scrapy.extensions.spiderstate.SpiderState": None,
    "webcrawler.extensions.control.Control": 50,
    "webcrawler.extensions.report.Report": 100,
    "webcrawler.extensions.progress.Progress": 200,
}
