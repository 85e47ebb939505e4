"""Values of classes, as the states of projects hold them, and what is left of one that has been stored."""

import collections
import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, SecretStr
from typing_extensions import TypedDict


class Phase(str, enum.Enum):
    ASKED = "asked"
    DONE = "done"


class Level(enum.Enum):
    LOW = 1
    BOTH = "both"


class Place(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Owner:
    name: str
    phase: Phase
    seen: frozenset[int] = frozenset({1})


class Step(BaseModel):
    title: str


class Call(Step):
    """A state names its base alone."""

    level: Level = Level.BOTH
    when: datetime.datetime = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    after: datetime.timedelta = datetime.timedelta(seconds=3)


class Inner(BaseModel):
    phase: Phase
    owner: Owner
    tags: set[str] = set()
    pair: tuple[int, str] = (1, "a")
    by: dict[Phase, Owner] = {}


class Plan(BaseModel):
    inner: Inner
    phases: list[Phase] = []
    number: uuid.UUID = uuid.UUID(int=7)


@dataclasses.dataclass
class Profile:
    plan: Plan
    phase: Phase
    items: dict[str, Level] = dataclasses.field(default_factory=dict)
    places: tuple[Place, ...] = ()


class Kept(TypedDict, total=False):
    """A state with a value of each kind."""

    plan: Plan
    profile: Profile
    phase: Phase
    tags: set[Phase]
    steps: Sequence[Step]
    anything: Any
    name: str
    # A twin's state has an argument of Send in it as well.
    sent: Any


def owner(name: str) -> Owner:
    return Owner(name, Phase.DONE, frozenset({2, 3}))


def plan(name: str) -> Plan:
    inner = Inner(phase=Phase.ASKED, owner=owner(name), tags={name}, by={Phase.DONE: owner(name)})
    return Plan(inner=inner, phases=[Phase.DONE, Phase.ASKED])


def profile(name: str) -> Profile:
    return Profile(plan(name), Phase.ASKED, {"a": Level.BOTH, "b": Level.LOW}, (Place(1, 2),))


def values(name: str) -> Kept:
    """Returns a value of each kind."""
    anything = {"of": [Place(3, 4), decimal.Decimal("1.5"), collections.deque([Level.LOW])], "secret": SecretStr(name)}
    steps = [Call(title=name), Step(title="s")]
    return Kept(
        plan=plan(name), profile=profile(name), phase=Phase.DONE, tags={Phase.ASKED}, steps=steps, anything=anything
    )


def form_of(value: Any) -> Any:
    """Returns a value as text and lists that tell each class in it. Tuples within others come back as lists."""
    kind = type(value).__name__
    if isinstance(value, enum.Enum):
        return f"{kind}.{value.name}"
    if isinstance(value, BaseModel):
        return {kind: {name: form_of(getattr(value, name)) for name in type(value).model_fields}}
    if dataclasses.is_dataclass(value):
        return {kind: {field.name: form_of(getattr(value, field.name)) for field in dataclasses.fields(value)}}
    if isinstance(value, SecretStr):
        return {kind: value.get_secret_value()}
    if hasattr(value, "_asdict"):
        return {kind: form_of(value._asdict())}
    if isinstance(value, dict):
        return {"dict": [[form_of(key), form_of(one)] for key, one in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {kind: sorted(str(form_of(one)) for one in value)}
    if isinstance(value, (list, tuple, collections.deque)):
        return {"list" if kind == "tuple" else kind: [form_of(one) for one in value]}
    return f"{kind} {value}"


def differing(found: Any, name: str) -> list[str]:
    """Returns the fields that are not as they were made under this name."""
    return [field for field, made in values(name).items() if form_of(found.get(field)) != form_of(made)]
