"""The lab: the real frontier on a simulated web, by a simulated clock.

`python -m webcrawler.lab` crawls a web that is made of nothing but a seed number: hosts of
power-law sizes, latencies, failures, dead hosts, Crawl-delays. No sockets and no waiting: when
nothing is ready the clock is set to the next event. The frontier, its politeness and its stores are
those of a real crawl; only the fetches are invented. Politeness is judged by an auditor that knows
the web and not the frontier. The same seed gives the same crawl, to the last fetch: `digest`
says so.

This package is pure: no Scrapy, no Twisted.
"""
