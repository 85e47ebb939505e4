from pydantic import BaseModel

from langgraph.func import entrypoint, task
from langgraph.store.base import BaseStore


class Result(BaseModel):
    turn: int
    parts: list[str]


@task
async def part(name: str, turn: int) -> str:
    return f"{name} of turn {turn}"


@entrypoint()
async def work(names: list[str], *, previous: Result | None, store: BaseStore) -> entrypoint.final[Result, Result]:
    turn = previous.turn + 1 if previous else 1
    waiting = [part(name, turn) for name in names]
    parts = [await each for each in waiting]
    await store.aput(("turns",), str(turn), {"parts": parts})
    return entrypoint.final(value=Result(turn=turn, parts=parts), save=Result(turn=turn, parts=parts))
