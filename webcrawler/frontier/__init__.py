"""The Mercator URL frontier.

A URL that is put passes the *URL-seen test*. If it is new, the *prioritizer* gives it a front
queue, 1 (first) to F (last), and the store keeps it with the other waiting URLs of its host.
Front queue k is a FIFO of the hosts that have URLs of priority k waiting, not of the URLs:
so nothing ever has to walk past the URLs of a busy host.

The *biased selector* draws a front queue, higher ones more often; the *router* takes that
queue's first host, leases it from the store and gives it a *back queue*: a short FIFO of that
host's URLs in memory. The *host heap* holds one entry for each back queue that is not in
flight: the earliest time its host may be hit. `next` takes the earliest host whose time has
come and hands out its first URL; the host is then in flight, which is to say not on the heap,
until it is released. When the fetch has ended, `release` gives the host its next time; when
everything that was to be done with the page has ended, `done` commits that ending together
with the links the page had. A host whose time is far away returns to the store and is *held*
there, so that it costs no memory.

The laws. The tests play random histories against them on every backend, also reopened.

1. At most one URL of a host is in flight, over all workers.
2. From the end of one fetch of a host to the start of the next passes at least that host's
   delay. The robots.txt fetch counts as a fetch.
3. A back queue holds URLs of one host; a host has at most one back queue; no back queue stays
   empty while the front queues have a host to give it.
4. A back queue that is not in flight has exactly one heap entry; one in flight has none.
5. What was put and accepted is handed out, or is still stored. Close, kill -9, a lost worker:
   nothing is lost; after a crash at most the URLs in flight are fetched twice.
6. "Nothing ready now" is not "nothing left".
7. Higher front queues are preferred; none starves.
8. `put`, `next` and `done` cost O(log n) or less, whatever one host holds.

This package is pure: no Scrapy, no Twisted, and the time is passed in.
"""
