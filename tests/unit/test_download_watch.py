from __future__ import annotations

from pydispatch import dispatcher
from scrapy import signals
from scrapy.signalmanager import SignalManager

from webcrawler.download.watch import has_listeners


class Listener:
    def __init__(self) -> None:
        self.heard = 0

    def __call__(self) -> None:
        self.heard += 1


def test_it_says_what_sending_would_do() -> None:
    manager, other = SignalManager(sender=object()), SignalManager(sender=object())
    listener = Listener()

    def agrees(expected: bool) -> None:
        assert has_listeners(manager, signals.bytes_received) is expected
        assert bool(manager.send_catch_log(signals.bytes_received)) is expected

    agrees(False)
    other.connect(listener, signals.bytes_received)
    agrees(False)
    manager.connect(listener, signals.headers_received)
    agrees(False)
    manager.connect(listener, signals.bytes_received)
    agrees(True)
    manager.disconnect(listener, signals.bytes_received)
    agrees(False)
    manager.connect(listener, dispatcher.Any)
    agrees(True)
    manager.disconnect(listener, dispatcher.Any)
    agrees(False)
    dispatcher.connect(listener, signals.bytes_received)
    agrees(True)
    dispatcher.disconnect(listener, signals.bytes_received)
    agrees(False)


def test_a_listener_that_is_gone_is_none() -> None:
    manager = SignalManager(sender=object())
    listener = Listener()
    manager.connect(listener, signals.bytes_received)
    assert has_listeners(manager, signals.bytes_received)
    del listener
    assert not has_listeners(manager, signals.bytes_received)
