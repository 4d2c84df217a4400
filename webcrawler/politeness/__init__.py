"""Politeness: when a host may be hit again.

`DelayPolicy.after` looks at how a fetch went and says when the host's next fetch may start and
what set that time. `Policies` finds the policy of a host, with its overrides. `AddressBook`
limits what many host names on one address get together. All pure; the time is passed in.
"""

from webcrawler.politeness.addresses import AddressBook
from webcrawler.politeness.delay import DelayPolicy, Policies
from webcrawler.politeness.fetch import Fetch
from webcrawler.politeness.retry_after import parse_retry_after

__all__ = ["AddressBook", "DelayPolicy", "Fetch", "Policies", "parse_retry_after"]
