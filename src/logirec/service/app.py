"""The HTTP service: recommendations, items, the model, and what machines ask about it."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import generate_latest
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from logirec import __version__
from logirec.config import ServiceConfig
from logirec.errors import InputError, LogiRecError
from logirec.model.catalogue import Item
from logirec.query import MAX_LITERALS, parts
from logirec.recommender.answers import Answer, Direction
from logirec.recommender.answers import Request as Asked
from logirec.recommender.recommender import Recommender
from logirec.service import described
from logirec.service.batching import Batcher, Busy, Late
from logirec.service.described import answered, body, describe, health, looked_up, told
from logirec.service.errors import explained, reply
from logirec.service.gate import Gate, Meters
from logirec.service.messages import AnswersReply, Ask, AskMany, ItemReply, ItemsReply, ModelReply, StatusReply
from logirec.service.models import Models
from logirec.service.page import add_page

MOST_PARTS = 2 * MAX_LITERALS  # of the queries of a batch call
METRICS = ("hit@3", "ndcg@3", "mrr", "hit@10", "queries")


class Pair(NamedTuple):
    """Two items whose direction is asked for."""

    first: str
    second: str


def create_app(models: Models, config: ServiceConfig, key: str | None = None) -> FastAPI:
    meters = Meters()

    def work(questions: Sequence[Asked | Pair]) -> list[Any]:
        meters.batch.observe(len(questions))
        recommender = models.current.recommender
        answers = iter(recommender.attempt_many([one for one in questions if isinstance(one, Asked)]))
        return [_direction(recommender, *one) if isinstance(one, Pair) else next(answers) for one in questions]

    batcher: Batcher[Asked | Pair, Any] = Batcher(work, config.gather, config.gather_ms / 1000, config.queue)
    meters.waiting.set_function(batcher.queue.qsize)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = True
        _listen_for_hangup(models, meters)
        watching = asyncio.create_task(_watch(models, config.reload_seconds, meters))
        async with batcher:
            yield
            app.state.ready = False
        watching.cancel()

    app = FastAPI(
        title="LogiRec",
        version=__version__,
        description="A basket of products in, the products that complete it out.",
        lifespan=lifespan,
        redirect_slashes=False,  # one address per thing, and no answer made of the sender's own words
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
    )
    deadline = config.deadline_ms / 1000

    @app.post("/v1/recommend", response_model=Answer, responses=answered(described.ANSWER), openapi_extra=body(Ask))
    async def recommend(request: Request) -> Response:
        """What completes a basket, or answers a query: how sure, and why."""
        asked = Ask.model_validate_json(await request.body()).request(config)
        return _json(await batcher.ask(asked, deadline))

    @app.post(
        "/v1/recommend/batch",
        response_model=AnswersReply,
        responses=answered(described.ANSWERS),
        openapi_extra=body(AskMany),
    )
    async def recommend_many(request: Request) -> Response:
        """Several at once: a list of answers, or errors in their places."""
        many = AskMany.model_validate_json(await request.body()).requests
        if len(many) > config.max_batch:
            raise InputError(f"{len(many)} requests; at most {config.max_batch}")
        asked = [_read(ask, config) for ask in many]
        if sum(parts(one.query) for one in asked if isinstance(one, Asked)) > MOST_PARTS:  # all can be written out
            raise InputError(f"more than {MOST_PARTS} parts in all queries together; ask in several calls")
        found = iter(await batcher.ask_all([one for one in asked if isinstance(one, Asked)], deadline))
        replies = [next(found) if isinstance(one, Asked) else one for one in asked]
        return _json({"answers": [_in_place(one, request.state.request_id) for one in replies]})

    @app.get("/v1/items", response_model=ItemsReply, responses=looked_up(described.ITEMS))
    def items(search: str = Query("", max_length=200), limit: int = Query(20, ge=1, le=100)) -> Response:
        """Items whose words begin with these; without any, some to begin with."""
        served = models.current
        found = served.words.find(search, limit) if search.strip() else served.first[:limit]
        return _json({"items": [_item(one) for one in found]})

    @app.get("/v1/items/{item_id:path}", response_model=ItemReply, responses=looked_up(described.ITEM))
    def item(item_id: str) -> Response:
        catalogue = models.current.recommender.trained.catalogue
        if item_id not in catalogue.vocabulary:
            raise HTTPException(404)
        return _json(_item(catalogue.item(int(catalogue.vocabulary.rows([item_id])[0]))))

    @app.get("/v1/direction", response_model=Direction, responses=answered(described.DIRECTION))
    async def direction(first: str = Query(max_length=500), second: str = Query(max_length=500)) -> Response:
        """A pair both ways."""
        return _json(await batcher.ask(Pair(first, second), deadline))

    @app.get("/v1/model", response_model=ModelReply, responses=told(described.MODEL))
    def model() -> Response:
        served = models.current
        trained = served.recommender.trained
        test = trained.metrics.get("test", {})
        shown = {
            kind: {ranking: {m: values[m] for m in METRICS if m in values} for ranking, values in rankings.items()}
            for kind, rankings in test.items()
        }
        return _json(
            {
                "sha256": served.sha256,
                "version": __version__,
                "items": len(trained.catalogue),
                "categories": sorted(trained.catalogue.rows_of_category),
                "preset": trained.recipe.preset,
                "variant": trained.recipe.variant,
                "told": trained.recipe.training.refit,
                **served.origin._asdict(),
                "served_since": served.since,
                "metrics": shown,
                "limits": config.model_dump(),
            }
        )

    @app.get("/livez", response_model=StatusReply, responses=health("alive"))
    async def alive() -> Response:
        return _json({"status": "alive"})

    @app.get("/readyz", response_model=StatusReply, responses=health("ready"))
    async def ready(request: Request) -> Response:
        if not getattr(app.state, "ready", False):
            raise HTTPException(503)
        return _json({"status": "ready"})

    @app.get("/metrics", response_class=Response, responses=described.TEXT)
    def metrics() -> Response:
        meters.loaded.set(models.current.since)
        return Response(generate_latest(meters.registry), media_type="text/plain; version=0.0.4")

    add_page(app)
    for kind in (HTTPException, LogiRecError, ValidationError, RequestValidationError, Busy, Late):
        app.add_exception_handler(kind, reply)
    paths = {getattr(route, "path", "") for route in app.routes}
    describe(app, key is not None)
    app.add_middleware(Gate, max_body=config.max_body, key=key, meters=meters, paths=paths)
    return app


async def _watch(models: Models, seconds: float, meters: Meters) -> None:
    """Look for another model now and then; loading one takes time, so in a thread."""
    while seconds:
        await asyncio.sleep(seconds)
        await _refresh(models, meters)


async def _refresh(models: Models, meters: Meters) -> None:
    if await asyncio.to_thread(models.refresh):
        meters.swaps.inc()


def _listen_for_hangup(models: Models, meters: Meters) -> None:
    tasks: set[asyncio.Task[None]] = set()  # or they might be collected while they run

    def start() -> None:
        task = asyncio.create_task(_refresh(models, meters))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if threading.current_thread() is threading.main_thread():  # signals reach no other
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, start)


def _direction(recommender: Recommender, first: str, second: str) -> Direction | LogiRecError:
    try:
        return recommender.direction(first, second)
    except LogiRecError as error:
        return error


def _read(ask: Any, config: ServiceConfig) -> Asked | InputError | ValidationError:
    try:
        request = Ask.model_validate(ask).request(config)
        parts(request.query)  # what cannot be asked fails here, by itself
        return request
    except (InputError, ValidationError) as error:
        return error


def _in_place(reply: Answer | Exception, request_id: str) -> Any:
    if not isinstance(reply, Exception):
        return reply
    status, code, message, at = explained(reply)
    if status >= 500:
        raise reply
    return {"error": {"code": code, "message": message, "at": at, "request_id": request_id}}


def _item(item: Item) -> dict[str, Any]:
    return {"item_id": item.item_id, "title": item.title, "brand": item.brand, "category": item.category}


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
