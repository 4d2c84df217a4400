from __future__ import annotations

import asyncio

import pytest

from webcrawler.download.deadline import Deadline

LATER = 3600.0


def test_time_is_up() -> None:
    async def check() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError), Deadline(loop, loop.time()):
            await asyncio.Event().wait()
        await asyncio.sleep(0)  # and the task goes on undisturbed

    asyncio.run(check())


def test_in_time() -> None:
    async def check() -> int:
        loop = asyncio.get_running_loop()
        with Deadline(loop, loop.time() + LATER):
            await asyncio.sleep(0)
            return 1

    assert asyncio.run(check()) == 1


def test_a_moment_can_be_moved_either_way() -> None:
    async def check() -> None:
        loop = asyncio.get_running_loop()
        with Deadline(loop, loop.time()) as deadline:
            deadline.move(loop.time() + LATER)
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await sooner(loop)

    async def sooner(loop: asyncio.AbstractEventLoop) -> None:
        with Deadline(loop, loop.time() + LATER) as deadline:
            deadline.move(loop.time())
            await asyncio.Event().wait()

    asyncio.run(check())


def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        with Deadline(loop, loop.time() + LATER):
            await asyncio.Event().wait()

    async def check() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(check())


def test_cancelled_and_late_at_once_is_cancelled() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        with Deadline(loop, loop.time()):
            task = asyncio.current_task()
            assert task is not None
            loop.call_later(0.01, task.cancel)
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())


def test_an_error_of_the_body_is_not_hidden() -> None:
    async def check() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(KeyError), Deadline(loop, loop.time() + LATER):
            raise KeyError

    asyncio.run(check())
