"""A worker's session: the right to its leases, renewed again and again, and lost at once.

It is believed for as long as Redis must believe it, counted from before the renewal was sent; after
that nothing is handed out. Whoever renews also notices sessions that nobody renews any more, and
takes over what they had; and hosts that Redis has leased to this session in an answer that was
lost. Both get the clock of a restart: whoever had them may just have fetched from them.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any

from webcrawler import clock
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.local import WORKER
from webcrawler.frontier.backends.shared.outbox import unpack_steps
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.worker import WorkerStore

logger = logging.getLogger(__name__)


class Session:
    """See the module. Its name is the store's `session`, which changes when it is lost."""

    def __init__(self, store: WorkerStore, lease_secs: float) -> None:
        self._store = store
        self.lease_secs = lease_secs
        self.is_lost = False  # and the next one not yet registered
        self._has_lost = False  # and nobody was told yet
        self._valid_until = 0.0
        self._asked: set[int] = set()  # where orphans were asked for

    # -- the start, with waiting

    def register(self) -> int:
        """Learn this worker's number: one for its folder, the same at every start."""
        store = self._store
        token = store.local.table(WORKER).get(b"token")
        if token is None:
            token = secrets.token_bytes(8)
            self._note(b"token", token)
        ask, key = store.direct.ask, store.keys.numbers
        number = ask(Call("", None, ("HGET", key, token)))
        if number is None:
            free = ask(Call("", None, ("HINCRBY", key, "last", 1)))
            ask(Call("", None, ("HSETNX", key, token, free)))
            number = ask(Call("", None, ("HGET", key, token)))
        return int(number)

    def begin(self) -> None:
        """Register the session in every partition."""
        store, sent_at = self._store, clock.steady()
        for partition in range(store.keys.partitions):
            store.ask(partition, "renew", store.session, self.lease_secs, "new")
        self._valid_until = sent_at + self.lease_secs

    def recover(self) -> None:
        """Take over from a process that died in this folder, and learn which of its pages stand.

        The folder is locked, so it is dead. Once its session is too, none of its commits that may
        still be on their way arrives.
        """
        store = self._store
        old = store.local.table(WORKER).get(b"session")
        self._note(b"session", store.session.encode())
        if old is not None:
            script = store.script("inherit")
            tags = [store.keys.tag(p) for p in range(store.keys.partitions)]
            calls = [Call(tag, script, (store.session, old, 0)) for tag in tags]
            for partition, answer in enumerate(store.direct.ask_all(calls)):
                self._take_over(partition, answer)
        promised = store.local.promised()
        script = store.script("holders")
        calls = [
            Call(store.keys.tag(p), script, (FINGERPRINT.pack(fingerprint),))
            for fingerprint, p in promised
        ]
        answers = store.direct.ask_all(calls) if calls else []
        for (fingerprint, _), (holder,) in zip(promised, answers, strict=True):
            if holder == store.number:
                store.local.keep(fingerprint)
            else:
                store.local.undo(fingerprint)

    def _note(self, key: bytes, value: bytes) -> None:
        batch = Batch()
        batch.put(WORKER, key, value)
        self._store.local.write(batch)

    # -- renewing

    def renew(self) -> None:
        """In every partition. It is valid from `renewed` on, when all have agreed."""
        store = self._store
        session = store.session
        for partition, names in enumerate(store.stock.names):
            hosts = (len(names), sum(names.values()))
            urls = len(store.hand.parts[partition])
            store.tell(
                partition,
                "renew",
                [session, self.lease_secs, "", store.stock.answered, *hosts, urls],
                lambda answer, p=partition: self._heard(session, p, answer),  # type: ignore[misc]
            )

    def renewed(self, sent_at: float) -> None:
        self._valid_until = sent_at + self.lease_secs

    def _heard(self, session: str, partition: int, answer: Any) -> None:
        store = self._store
        if session != store.session:
            return
        if not answer[0]:
            self.lose()
            return
        for dead in answer[1]:
            self._inherit(partition, dead)
        if not answer[2]:
            self._ask_for_orphans(partition)

    def _ask_for_orphans(self, partition: int) -> None:
        if partition in self._asked:
            return
        self._asked.add(partition)
        store = self._store
        session, stock = store.session, store.stock

        def told(answer: Any) -> None:
            if session != store.session:
                return
            self._asked.discard(partition)
            if answer[0]:
                # Others may have these hosts.
                self.lose("Redis has come back without hosts that were this worker's")
            else:
                self._adopt(partition, answer[1])

        names = stock.names[partition]
        hosts = [word for pair in names.items() for word in pair]
        urls = map(FINGERPRINT.pack, store.hand.parts[partition])
        store.tell(partition, "orphans", [session, stock.answered, len(names), *hosts, *urls], told)

    def _inherit(self, partition: int, dead: bytes) -> None:
        store = self._store
        session, number = store.session, store.stock.next_number()

        def inherited(answer: Any) -> None:
            if session != store.session:
                return
            store.stock.answered = number
            self._take_over(partition, answer)

        logger.info(f"a worker is gone: what it had in partition {partition} is taken over")
        store.tell(partition, "inherit", [session, dead, number], inherited)

    def _take_over(self, partition: int, answer: Any) -> None:
        self._adopt(partition, answer[0])
        for box, blob in answer[1]:
            self._store.deliver(partition, box.decode(), unpack_steps(blob))

    def _adopt(self, partition: int, passed: Sequence[Any]) -> None:
        """Hosts that somebody had, or that we were never told of: released, after their delay."""
        store = self._store
        for told in passed:
            host = store.restarted(told)
            store.stock.add(partition, host, told[7])
            store.release(host, clock.now(), store.stock.horizon)

    # -- losing

    def lose(self, why: str = "this worker was away for too long and has lost its hosts") -> None:
        """The session was given up for dead: what it had is not ours any more."""
        if self.is_lost:
            return
        self.is_lost = self._has_lost = True
        self._valid_until = 0.0
        self._asked.clear()
        logger.warning(f"{why}: it starts anew")
        store = self._store
        store.let_all_go()
        store.session = session = secrets.token_hex(6)
        self._note(b"session", session.encode())
        left = store.keys.partitions

        def registered(answer: Any) -> None:
            nonlocal left
            left -= 1
            if not left and session == store.session:
                self.is_lost = False

        for partition in range(store.keys.partitions):
            store.tell(partition, "renew", [session, self.lease_secs, "new"], registered)

    def may_hand_out(self) -> bool:
        return not self._has_lost and clock.steady() < self._valid_until

    @property
    def may_lease(self) -> bool:
        return not self.is_lost and not self._has_lost

    def has_lost_leases(self) -> bool:
        has_lost, self._has_lost = self._has_lost, False
        return has_lost

    def permit(self) -> Callable[[], bool]:
        """Asked just before a request is sent: whether what was handed out now is still ours.

        A process can be stopped between the two, for longer than its leases last.
        """
        store, session = self._store, self._store.session
        return lambda: session == store.session and self.may_hand_out()
