"""Graphs that hold values of many shapes in each place where a value is stored, and say in which form they find them.

`compared.py` runs the same graphs with LangGraph's own saver.
"""

import dataclasses
import enum
import operator
from typing import Annotated, Any, Optional

from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel, ConfigDict, create_model
from shapes.values import SHAPES, all_values, form_of, forms_of, values
from typing_extensions import TypedDict

Log = Annotated[list[Any], operator.add]

# Each field with the class of its value, and each with none.
_KINDS: dict[str, Any] = {shape: Optional[type(value)] for shape, value in values(0).items()}  # noqa: UP045
_KINDS["late"] = Any
_ANY: dict[str, Any] = dict.fromkeys(SHAPES, Any)
_OWN: dict[str, Any] = {"turn": int, "log": Log}
Typed: Any = TypedDict("Typed", {**_KINDS, **_OWN}, total=False)
Untyped: Any = TypedDict("Untyped", {**_ANY, **_OWN}, total=False)
Data: Any = dataclasses.make_dataclass(
    "Data",
    [
        *((shape, kind, None) for shape, kind in _KINDS.items()),
        ("turn", int, 0),
        ("log", Log, dataclasses.field(default_factory=list)),
    ],
)


def _has_schema(shape: str) -> bool:
    """Pydantic has one for its own models and for classes of data; what it makes of a dict is another one."""
    # Each call makes another class; LangGraph gives a list for the member of an enum whose values are tuples; nobody has
    # imported the last one.
    if shape in ("local", "planet", "late"):
        return False
    kind = type(values(0)[shape])
    return issubclass(kind, (BaseModel, enum.Enum)) or dataclasses.is_dataclass(kind) or hasattr(kind, "_asdict")


Model: Any = create_model(
    "Model",
    __config__=ConfigDict(arbitrary_types_allowed=True, protected_namespaces=()),
    **{shape: (kind if _has_schema(shape) else Any, None) for shape, kind in _KINDS.items()},
    turn=(int, 0),
    log=(Log, []),
)


def _fields(state: Any) -> dict[str, Any]:
    if isinstance(state, dict):
        return state
    return {name: getattr(state, name) for name in (*SHAPES, "turn") if hasattr(state, name)}


def make(state: Any) -> Any:
    """Says what the run before has left, and makes all values anew."""
    fields = _fields(state)
    turn = (fields.get("turn") or 0) + 1
    return {**all_values(turn), "turn": turn, "log": [{"of the run before": forms_of(fields)}]}


def look(state: Any) -> Any:
    return {"log": [{"next step": forms_of(_fields(state))}]}


def ask(state: Any) -> Any:
    interrupt("go on?")
    return {"log": [{"behind the answer": forms_of(_fields(state))}]}


def _asking(schema: Any) -> StateGraph:
    builder = StateGraph(schema).add_node("make", make).add_node("look", look).add_node("ask", ask)
    return builder.add_edge(START, "make").add_edge("make", "look").add_edge("look", "ask").add_edge("ask", END)


typed = _asking(Typed).compile()
untyped = _asking(Untyped).compile()
data = _asking(Data).compile()
model = _asking(Model).compile()
configured = _asking(Typed).compile().with_config(recursion_limit=50)


async def made(config: Any) -> Any:
    """A factory."""
    return _asking(Untyped)


class Outer(TypedDict, total=False):
    log: Log
    turn: int


# The states of these name none of the classes.
nested = StateGraph(Outer).add_node("inner", _asking(Untyped).compile(checkpointer=True)).add_edge(START, "inner").compile()
deep = StateGraph(Outer).add_node("middle", nested).add_edge(START, "middle").compile()


async def call(state: Outer) -> Outer:
    return {"log": (await untyped.ainvoke({"turn": state.get("turn", 0)}))["log"]}


calls = StateGraph(Outer).add_node("call", call).add_edge(START, "call").compile()


def to_each(state: Outer) -> list[Send]:
    alone = [Send("take", {"shape": shape, "alone": value}) for shape, value in all_values(1).items()]
    bare = [Send("take", value) for value in all_values(1).values()]
    return [*alone, *bare, Send("take", {"shape": "all", **all_values(2)})]


def take(argument):  # noqa: ANN001, ANN201, its annotation would name the classes.
    interrupt("take?")
    return {"log": [{"argument": form_of(argument)}]}


def _sending() -> Any:
    builder = StateGraph(Outer).add_node("first", lambda _: {}).add_node("take", take).add_edge(START, "first")
    return builder.add_conditional_edges("first", to_each, ["take"]).compile()


sends = _sending()


@task
def write(turn: int):  # noqa: ANN202, its annotation would name the classes.
    return all_values(turn)


@entrypoint()
async def remembers(given: Any, *, previous: Any = None) -> Any:
    turn = len((previous or {}).get("log", [])) + 1
    written = await write(turn)
    interrupt({"made": "?"})
    before = (previous or {}).get("log", [])
    log = [*before, {"of its task": forms_of(written), "previous": forms_of((previous or {}).get("values", {}))}]
    return entrypoint.final(value={"log": log}, save={"values": written, "log": log})
