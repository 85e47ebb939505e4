"""The Python twin of transformed.ts: a graph with stream transformers, which turn its events into something of their own."""

from typing import Any

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.stream import StreamChannel, StreamTransformer
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    left: int


class Counted(StreamTransformer):
    """Sends its counts to clients, and at the end their total. What it hears stays in the server."""

    def init(self) -> dict[str, Any]:
        self._steps: StreamChannel[Any] = StreamChannel("steps")
        self._total: StreamChannel[int] = StreamChannel("total")
        self._heard: StreamChannel[str] = StreamChannel()
        self._count = 0
        return {"steps": self._steps, "heard": self._heard, "total": self._total}

    def process(self, event: Any) -> bool:
        self._heard.push(event["method"])
        if event["method"] == "custom":
            self._count += 1
            self._steps.push({"left": event["params"]["data"]["left"]})
        return True

    def finalize(self) -> None:
        self._total.push(self._count)


class Hushed(StreamTransformer):
    """Reports that a node has written, but not what."""

    def init(self) -> dict[str, Any]:
        self._wrote: StreamChannel[bool] = StreamChannel("wrote")
        return {"wrote": self._wrote}

    def process(self, event: Any) -> bool:
        if event["method"] != "updates":
            return True
        self._wrote.push(True)
        return False


class Unkept(StreamTransformer):
    """Fails when the graph has ended."""

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        return True

    def finalize(self) -> None:
        raise ValueError("The transformer is broken at its end.")


class Broken(StreamTransformer):
    """Fails at the first event, and does not bear it."""

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        raise ValueError("The transformer is broken.")

    def fail(self, error: BaseException) -> None:
        raise ValueError("It does not bear it.")


def step(state: State) -> State:
    if state["left"] < 1:
        raise ValueError("There is nothing to count.")
    get_stream_writer()({"left": state["left"]})
    return {"left": state["left"] - 1}


def further(state: State) -> str:
    return "step" if state["left"] > 0 else END


builder = (
    StateGraph(State).add_node("step", step).add_edge(START, "step").add_conditional_edges("step", further, ["step", END])
)

transformed = builder.compile(transformers=[Counted, Hushed])
unkept = builder.compile(transformers=[Unkept, Counted])
breaking = builder.compile(transformers=[Broken])
