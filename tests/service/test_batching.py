"""Batches: together what comes together, each with its own reply, nothing lost and nothing beyond the limits."""

import asyncio
import threading

import pytest

from logirec.service.batching import Batcher, Busy, Late


class Work:
    """Doubles numbers; keeps the batches; can be held back."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = threading.Event()
        self.open.set()

    def __call__(self, numbers):
        self.batches.append(list(numbers))
        assert self.open.wait(10)
        if -1 in numbers:
            raise RuntimeError("all of it failed")
        return [ValueError(f"bad {n}") if n == 13 else 2 * n for n in numbers]


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 20))


def test_each_gets_its_own_reply_and_most_come_together():
    work = Work()

    async def main():
        async with Batcher(work, most=8, wait=0.05) as batcher:
            return await asyncio.gather(*(batcher.ask(n, 10) for n in range(20, 40)))

    assert run(main()) == [2 * n for n in range(20, 40)]
    assert [len(batch) for batch in work.batches] == [8, 8, 4]


HOURS = 10_000.0  # a wait that no test would live to see the end of


def test_one_alone_is_answered_at_once():
    work = Work()

    async def main():
        async with Batcher(work, wait=HOURS) as batcher:
            assert await batcher.ask(1, 10) == 2
            assert await batcher.ask(2, 10) == 4

    run(main())
    assert work.batches == [[1], [2]]


def test_as_many_as_were_there_together_are_waited_for():
    work = Work()
    work.open.clear()

    async def main():
        async with Batcher(work, wait=HOURS) as batcher:
            first = asyncio.create_task(batcher.ask(1, 10))
            while not work.batches:
                await asyncio.sleep(0.001)
            rest = [asyncio.create_task(batcher.ask(n, 10)) for n in (2, 3)]  # three askers in all
            await asyncio.sleep(0)
            work.open.set()
            await first
            return await asyncio.gather(*rest, batcher.ask(4, 10))

    assert run(main()) == [4, 6, 8]
    assert work.batches == [[1], [2, 3, 4]]


def test_who_does_not_come_is_not_waited_for_long():
    work = Work()

    async def main():
        async with Batcher(work, most=3, wait=0.001) as batcher:
            await asyncio.gather(*(batcher.ask(n, 10) for n in (1, 2, 3)))
            assert await batcher.ask(4, 10) == 8
            batcher.wait = HOURS  # alone by now
            assert await batcher.ask(5, 10) == 10

    run(main())
    assert work.batches == [[1, 2, 3], [4], [5]]


def test_an_error_is_of_its_question_alone():
    async def main():
        async with Batcher(Work(), wait=0.05) as batcher:
            return await asyncio.gather(*(batcher.ask(n, 10) for n in (1, 13, 2)), return_exceptions=True)

    one, error, two = run(main())
    assert (one, two) == (2, 4)
    assert str(error) == "bad 13"


def test_a_batch_that_fails_fails_for_all_and_the_next_one_works():
    async def main():
        async with Batcher(Work(), wait=0.05) as batcher:
            failed = await asyncio.gather(*(batcher.ask(n, 10) for n in (-1, 2)), return_exceptions=True)
            return failed, await batcher.ask(3, 10)

    failed, reply = run(main())
    assert [str(error) for error in failed] == ["all of it failed"] * 2
    assert reply == 6


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_queue_holds_its_number_and_no_more(more):
    work, size = Work(), 5
    work.open.clear()

    async def main():
        async with Batcher(work, most=1, wait=0, queue=size) as batcher:
            first = asyncio.create_task(batcher.ask(0, 10))
            while not work.batches:  # it is being worked on: the queue is empty
                await asyncio.sleep(0.001)
            rest = [asyncio.create_task(batcher.ask(n, 10)) for n in range(1, size + more + 1)]
            await asyncio.sleep(0.01)
            work.open.set()
            return await asyncio.gather(first, *rest, return_exceptions=True)

    found = run(main())
    assert sum(isinstance(one, Busy) for one in found) == max(0, more)
    assert sum(isinstance(one, int) for one in found) == 1 + size + min(0, more)


def test_who_is_late_is_told_and_not_worked_for():
    work = Work()
    work.open.clear()

    async def main():
        async with Batcher(work, most=1, wait=0) as batcher:
            first = asyncio.create_task(batcher.ask(1, 10))
            while not work.batches:
                await asyncio.sleep(0.001)
            with pytest.raises(Late):
                await batcher.ask(2, 0.01)
            work.open.set()
            assert await first == 2
            assert await batcher.ask(3, 10) == 6

    run(main())
    assert work.batches == [[1], [3]]


def test_leaving_answers_what_still_waits():
    work = Work()

    async def main():
        async with Batcher(work, most=2, wait=0) as batcher:
            waiting = [asyncio.create_task(batcher.ask(n, 10)) for n in range(7)]
            await asyncio.sleep(0)
        return await asyncio.gather(*waiting)

    assert run(main()) == [2 * n for n in range(7)]
