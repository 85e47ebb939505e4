"""Graphs whose states are of classes and hold values of classes. Each says which of these it does not find as it left them."""

import dataclasses
import operator
from collections.abc import Sequence
from typing import Annotated, Any

from classes.values import Kept, Owner, Phase, Plan, Profile, Step, differing, form_of, owner, plan, values
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict


class Typed(Kept, total=False):
    found: Annotated[list[Any], operator.add]


@dataclasses.dataclass
class Data:
    plan: Plan | None = None
    profile: Profile | None = None
    phase: Phase | None = None
    tags: set[Phase] = dataclasses.field(default_factory=set)
    steps: Sequence[Step] = ()
    anything: Any = None
    name: str = ""
    found: Annotated[list[Any], operator.add] = dataclasses.field(default_factory=list)


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    plan: Plan | None = None
    profile: Profile | None = None
    phase: Phase | None = None
    tags: set[Phase] = set()
    steps: Sequence[Step] = ()
    anything: Any = None
    name: str = ""
    found: Annotated[list[Any], operator.add] = []


def _fields(state: Any) -> dict[str, Any]:
    return state if isinstance(state, dict) else {name: getattr(state, name, None) for name in Kept.__annotations__}


def look(state: Any) -> Any:
    """Looks at what an earlier run has left, and makes all fields anew, under the name of this one."""
    fields = _fields(state)
    before = fields["plan"].inner.owner.name if isinstance(fields.get("plan"), Plan) else None
    missed = [] if fields.get("plan") is None else differing(fields, before or "nobody")
    return {**values(fields["name"]), "found": [{"run before": before, "missed": missed}]}


def ask(state: Any) -> Any:
    answer = interrupt({"for": owner("asks"), "phase": Phase.ASKED})
    fields = _fields(state)
    return {"found": [{"answer": answer, "missed": differing(fields, fields["name"])}]}


def behind(state: Any) -> Any:
    fields = _fields(state)
    return {"found": [{"behind": type(state).__name__, "missed": differing(fields, fields["name"])}]}


def _asking(schema: Any) -> StateGraph:
    # The annotation of a node would say what is given to it.
    builder = StateGraph(schema).add_node("look", look).add_node("ask", ask).add_node("behind", behind)
    return builder.add_edge(START, "look").add_edge("look", "ask").add_edge("ask", "behind").add_edge("behind", END)


typed = _asking(Typed).compile()
data = _asking(Data).compile()
model = _asking(Model).compile()
# LangGraph makes a copy here, which has lost what compile has set.
configured = _asking(Typed).compile().with_config(recursion_limit=50)


async def made(config: Any) -> Any:
    return _asking(Data)


class Outer(TypedDict, total=False):
    name: str
    found: Annotated[list[Any], operator.add]
    steps: Sequence[Step]


# Its own state holds none of the classes that the inner one names.
outer = StateGraph(Outer).add_node("inner", _asking(Typed).compile()).add_edge(START, "inner").compile()


async def call(state: Outer) -> Outer:
    inner = await configured.ainvoke({"name": state["name"]})
    return {"found": [{"called": inner["found"]}]}


calls = StateGraph(Outer).add_node("call", call).add_edge(START, "call").compile()


class Sent(TypedDict, total=False):
    waits: bool
    found: Annotated[list[Any], operator.add]


def to_all(state: Sent) -> list[Send]:
    arguments: list[Any] = [{"plan": plan("p"), "phase": Phase.DONE}, owner("o"), plan("q"), [Phase.ASKED, {owner("s")}]]
    return [Send("take", one) for one in arguments]


def take(argument):  # noqa: ANN001, ANN201, its annotation would name the classes.
    interrupt("take?")
    return {"found": [form_of(argument)]}


def show(argument):  # noqa: ANN001, ANN201, its annotation would name the classes.
    return {"found": [form_of(argument)]}


def _sending(node: Any) -> Any:
    builder = StateGraph(Sent).add_node("first", lambda _: {}).add_node("take", node).add_edge(START, "first")
    return builder.add_conditional_edges("first", to_all, ["take"]).compile()


sends = _sending(take)
sends_plainly = _sending(show)


@task
def write(name: str):  # noqa: ANN202, its annotation would name the classes.
    return values(name)


@entrypoint()
async def counts(name: str, *, previous: Any = None) -> Any:
    written = await write(name)
    answer = interrupt(owner(name))
    missed = None if previous is None else differing(previous["values"], previous["name"])
    kept = {"name": name, "values": written}
    answered = {"answer": answer, "task": differing(written, name), "previous": missed}
    return entrypoint.final(value=answered, save=kept)


@entrypoint()
def names(name: str, *, previous: Owner | None = None) -> entrypoint.final[Any, Owner]:
    return entrypoint.final(value={"previous": form_of(previous)}, save=owner(name))
