"""The frontier in Redis, shared by many workers. How and why: docs/architecture.md.

Hosts belong to a fixed number of partitions; the keys of a partition carry one hash tag, and
every step is one short Lua file that touches one partition, so that all runs on a cluster. With
the tag T, a partition has:

    T:n            counts
    T:seen:b       fingerprints as integers, in buckets small enough to stay intsets
    T:hosts        names of the hosts
    T:h:host       a host: row, next time, lease, flags, counts, URLs to take at once
    T:q:k:host     its waiting URLs of front queue k, packed records in a list
    T:f:k          front queue k: hosts
    T:held         hosts by the time they are held until
    T:live         sessions of workers, each with the time until which it was renewed
    T:lease:s      hosts leased to a session, each with the number of the step that did it
    T:last         of each session the number of its last step that leased
    T:hand:s       URLs a session has in hand, each with the number of the lease it came by
    T:out:s        what a session's pages have for other partitions, until it is delivered
    T:pages        how URLs ended, and by which worker
    T:t:name       rows of side tables, spread over the partitions by their keys
"""
