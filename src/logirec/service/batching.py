"""Requests that arrive within a few milliseconds of each other are answered together.

A basket alone costs a pass through the whole catalogue; 32 together cost little more. One batch is worked on at a
time, in a thread of its own, while the next one gathers. Askers whose answers have just gone out tend to ask again
soon: a batch waits a moment until as many are there as last time, or every second batch would hold only a few.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")
Work = Callable[[Sequence[Question]], Sequence[Reply | Exception]]  # a reply or an error for each question


class Busy(Exception):
    """The queue is full."""


class Late(Exception):
    """No answer before the deadline."""


@dataclass(frozen=True)
class _Waiting(Generic[Question, Reply]):
    question: Question
    reply: "asyncio.Future[Reply | Exception]"  # an error is a value here: nobody may be left to catch it


class Batcher(Generic[Question, Reply]):
    def __init__(self, work: Work[Question, Reply], most: int = 32, wait: float = 0.002, queue: int = 256) -> None:
        """At most `most` questions a batch, gathered for at most `wait` seconds; `queue` may wait for their turn."""
        self.work, self.most, self.wait = work, most, wait
        self.queue: asyncio.Queue[_Waiting[Question, Reply]] = asyncio.Queue(queue)
        self._thread = ThreadPoolExecutor(1, "recommend")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Batcher[Question, Reply]":
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """What waits is still answered."""
        await self.queue.join()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._thread.shutdown()

    async def ask(self, question: Question, deadline: float) -> Reply:
        """The reply, or the error that the question led to; Busy or Late where there is none in time."""
        (reply,) = await self.ask_all([question], deadline)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def ask_all(self, questions: Sequence[Question], deadline: float) -> list[Reply | Exception]:
        """A reply or an error for each. Busy where not all of them find room: then none takes any."""
        if self.queue.qsize() + len(questions) > self.queue.maxsize:
            raise Busy
        loop = asyncio.get_running_loop()
        replies: list[asyncio.Future[Reply | Exception]] = [loop.create_future() for _ in questions]
        for question, reply in zip(questions, replies, strict=True):
            self.queue.put_nowait(_Waiting(question, reply))
        try:
            async with asyncio.timeout(deadline):
                return [await reply for reply in replies]
        except TimeoutError:
            raise Late from None
        finally:
            for reply in replies:
                reply.cancel()  # a batch passes over whoever no longer waits

    async def _run(self) -> None:
        expected = 1
        while True:
            batch = await self._gather(expected)
            asked = [waiting for waiting in batch if not waiting.reply.done()]  # whoever gave up is not worked for
            try:
                if asked:
                    await self._answer(asked)
            finally:
                for _ in batch:
                    self.queue.task_done()
            expected = len(batch) + self.queue.qsize()  # so many were here at once, and may soon ask again

    async def _gather(self, expected: int) -> list[_Waiting[Question, Reply]]:
        """Up to `expected` are waited for, a moment long: one who is alone is answered at once."""
        batch = [await self.queue.get()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.wait):
                while len(batch) < min(expected, self.most):
                    batch.append(await self.queue.get())
        while len(batch) < self.most and not self.queue.empty():
            batch.append(self.queue.get_nowait())
        return batch

    async def _answer(self, asked: Sequence[_Waiting[Question, Reply]]) -> None:
        loop = asyncio.get_running_loop()
        replies: Sequence[Reply | Exception]
        try:
            replies = await loop.run_in_executor(self._thread, self.work, [waiting.question for waiting in asked])
        except Exception as error:
            replies = [error] * len(asked)
        for waiting, reply in zip(asked, replies, strict=True):
            if not waiting.reply.done():
                waiting.reply.set_result(reply)
