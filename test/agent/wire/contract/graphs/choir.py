"""The Python twin of choir.ts: a channel of which only the writes are stored. Their order counts."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


def _joined(sung: list[str], parts: Sequence[list[str]]) -> list[str]:
    return [*sung, *(voice for part in parts for voice in part)]


try:
    from langgraph.channels import DeltaChannel
except ImportError:
    # Before 1.2 the whole list is stored.
    Channel = Annotated[list[str], lambda sung, part: _joined(sung, [part])]
else:
    Channel = Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=3)]


class State(TypedDict, total=False):
    sung: Channel


VOICES = ["soprano", "alto", "tenor", "bass", "countertenor", "treble"]


def singing(voice: str, at: int) -> Callable[[State], Any]:
    async def sing(state: State) -> State:
        await asyncio.sleep(0.005 * (len(VOICES) - at))
        return {"sung": [voice]}

    return sing


# All voices sing in one step, the first ones last.
builder = StateGraph(State)
for at, voice in enumerate(VOICES):
    builder.add_node(voice, singing(voice, at)).add_edge(START, voice).add_edge(voice, END)

graph = builder.compile()
