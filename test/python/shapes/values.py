"""Values of many shapes, as states of public projects hold them, and the form of one that has been stored."""

import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pydantic.v1
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.store.base import Item as StoreItem
from langgraph.types import Command, Send
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    SecretBytes,
    SecretStr,
    computed_field,
    model_validator,
)
from pydantic.dataclasses import dataclass as model_of_data

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Bit(enum.IntFlag):
    ONE = 1
    TWO = 2


class Mode(enum.StrEnum):
    FAST = enum.auto()
    SLOW = enum.auto()


class Planet(enum.Enum):
    """The values are tuples."""

    EARTH = (5, "blue")
    MARS = (6, "red")

    def __init__(self, weight: int, colour: str) -> None:
        self.weight = weight
        self.colour = colour


class Thing(BaseModel):
    name: str
    price: decimal.Decimal = decimal.Decimal("1.50")


class Box(BaseModel, Generic[T]):
    content: T
    others: list[T] = []


BoxOfThings = Box[Thing]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: set[str] = set()


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Owner(BaseModel):
    pets: list[Pet] = []
    best: Pet | None = None
    by_colour: dict[Colour, Thing] = {}


class Names(RootModel[list[str]]):
    pass


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int


class Aliased(BaseModel):
    user_id: str = Field(alias="userId")


class Private(BaseModel):
    a: int = 1
    _secret: int = PrivateAttr(default=7)


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class Strictly(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", use_enum_values=True)
    colour: Colour = Colour.RED
    when: datetime.date = datetime.date(2026, 1, 2)


class Leaf(BaseModel):
    value: int
    children: list["Leaf"] = []


class Outside(BaseModel):
    class Inside(BaseModel):
        n: int = 1

    inside: Inside = Inside()


class Link(BaseModel):
    key: SecretStr
    raw: SecretBytes = SecretBytes(b"raw")


class Doubling(BaseModel):
    """A value that is validated again grows."""

    n: int

    @model_validator(mode="before")
    @classmethod
    def accept(cls, given: Any) -> Any:
        return {"n": given} if isinstance(given, int) else given

    @computed_field
    @property
    def twice(self) -> int:
        return 2 * self.n


class Loose(BaseModel):
    """Nothing says what is within."""

    anything: Any = None
    model_config = ConfigDict(arbitrary_types_allowed=True)


class Older(pydantic.v1.BaseModel):
    n: int
    tags: set[str] = set()


class Point(NamedTuple):
    x: int
    y: int = 2


Pair = collections.namedtuple("Pair", ["a", "b"])


@dataclass
class Step:
    title: str
    done: bool = False
    notes: list[Any] = field(default_factory=list)


@dataclass
class Later(Step):
    when: datetime.datetime = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Slot:
    n: int
    tags: frozenset[str] = frozenset()


@dataclass(kw_only=True, order=True)
class Named:
    name: str
    inner: Slot | None = None


@dataclass
class Computed:
    a: int
    b: int = field(init=False)

    def __post_init__(self) -> None:
        self.b = self.a * 2


@dataclass
class Given:
    a: int
    more: InitVar[int] = 1

    def __post_init__(self, more: int) -> None:
        self.a += more


@dataclass
class Wrapper(Generic[T]):
    content: T


@dataclass
class Tree:
    v: int
    kids: list["Tree"] = field(default_factory=list)


@model_of_data
class Checked:
    n: int
    thing: Thing


class Stamp(dict[str, Any]):
    pass


class Words(list[str]):
    pass


class Label(str):
    pass


class Tags(set[str]):
    pass


class Money(decimal.Decimal):
    pass


class Ticket(uuid.UUID):
    pass


class Day(datetime.date):
    pass


class Span(datetime.timedelta):
    pass


class Question(HumanMessage):
    """A message of the project's own."""

    topic: str = ""


class Cited(Document):
    source: Colour = Colour.RED


class Dumped:
    """It only looks like a model."""

    def __init__(self, n: int) -> None:
        self.n = n

    def model_dump(self) -> dict[str, Any]:
        return {"n": self.n}


class Plain:
    """LangGraph stores what `dict` returns, as it does for older models."""

    def __init__(self, n: int) -> None:
        self.n = n

    def dict(self) -> Any:
        return {"n": self.n}


class Hidden:
    def __init__(self, n: str) -> None:
        self.n = n

    def get_secret_value(self) -> str:
        return self.n


def local(i: int) -> Any:
    @dataclass
    class Within:
        n: int

    return Within(i)


MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
AI = AIMessage(
    "hey",
    id="1",
    tool_calls=[{"name": "look", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
    usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    additional_kwargs={"colour": "red"},
)


def _of_pydantic(i: int) -> dict[str, Any]:
    private = Private(a=3)
    private._secret = i
    return {
        "model": Thing(name=f"n{i}"),
        "generic": Box[Thing](content=Thing(name=f"n{i}"), others=[Thing(name="o")]),
        "generic_by_name": BoxOfThings(content=Thing(name="q")),
        "generic_of_int": Box[int](content=i),
        "generic_plain": Box(content=Colour.RED),
        "owner": Owner(pets=[Cat(), Dog(tricks={"sit"})], best=Dog(), by_colour={Colour.RED: Thing(name="r")}),
        "pet": Cat(lives=i),
        "root": Names(["a", "b"]),
        "frozen": Frozen(x=i),
        "aliased": Aliased(userId="u"),
        "private": private,
        "extra": Extra(a=1, more=Colour.RED),  # type: ignore[call-arg]
        "strictly": Strictly(),
        "leaf": Leaf(value=1, children=[Leaf(value=2)]),
        "outside": Outside(),
        "inside": Outside.Inside(n=4),
        "link": Link(key=SecretStr("s3cret")),
        "secret": SecretStr("s3cret"),
        "doubling": Doubling(n=i),
        "loose": Loose(anything=[Point(1, 2), {Colour.RED: Step("s")}]),
        "older": Older(n=i, tags={"a"}),
        "constructed": Thing.model_construct(name=None),
    }


def _of_data(i: int) -> dict[str, Any]:
    return {
        "named_tuple": Point(1, i),
        "pair": Pair(1, Colour.RED),
        "step": Step("s", notes=["n", Colour.RED, Thing(name="n")]),
        "later": Later("s"),
        "slot": Slot(1, frozenset({"z"})),
        "named": Named(name="n", inner=Slot(2)),
        "computed": Computed(4),
        "given": Given(4),
        "wrapper": Wrapper[Thing](Thing(name="w")),
        "tree": Tree(1, [Tree(2)]),
        "checked": Checked(1, Thing(name="c")),
        "enum": Colour.BLUE,
        "int_enum": Rank.HIGH,
        "flags": Right.READ | Right.WRITE,
        "flag": Right.READ,
        "bits": Bit.ONE | Bit.TWO,
        "mode": Mode.SLOW,
        "planet": Planet.MARS,
        "dumped": Dumped(i),
        "plain": Plain(i),
        "hidden": Hidden("h"),
        "local": local(i),
    }


def _of_collections(i: int) -> dict[str, Any]:
    return {
        "by_enum": {Colour.RED: 1, Colour.BLUE: [Thing(name="b")]},
        "by_int": {1: "a", 2: Rank.HIGH},
        "by_tuple": {(1, 2): "t"},
        "by_date": {datetime.date(2026, 1, 2): 1},
        "by_uuid": {uuid.UUID(int=1): 1},
        "set": {1, 2},
        "frozen_set": frozenset({"a"}),
        "set_of_enums": {Colour.RED},
        "set_of_points": {Point(1, 2)},
        "set_of_slots": {Slot(1)},
        "tuple": (1, "a", Colour.RED),
        "nested_tuple": ((1, 2), [(3,)]),
        "deque": deque([1, Colour.RED], maxlen=5),
        "default_dict": defaultdict(list, {"a": [1]}),
        "ordered_dict": OrderedDict(a=1, b=Colour.RED),
        "counter": Counter("aab"),
        "stamp": Stamp(a=1),
        "words": Words(["a"]),
        "label": Label("l"),
        "tags": Tags({"t"}),
        "mixed": [Thing(name="1"), {"k": Step("deep")}, (Colour.RED,)],
    }


def _of_python(i: int) -> dict[str, Any]:
    rome = zoneinfo.ZoneInfo("Europe/Rome")
    return {
        "moment": MOMENT.replace(tzinfo=datetime.UTC),
        "in_rome": MOMENT.replace(tzinfo=rome),
        "naive": MOMENT,
        "date": MOMENT.date(),
        "time": datetime.time(3, 4, tzinfo=datetime.UTC),
        "delta": datetime.timedelta(days=1, microseconds=4),
        "zone": rome,
        "day": Day(2026, 1, 2),
        "span": Span(days=3),
        "decimal": decimal.Decimal("1.10"),
        "money": Money("1.10"),
        "uuid": uuid.UUID(int=i),
        "ticket": Ticket(int=i),
        "path": pathlib.Path("/a/b"),
        "pattern": re.compile("a+", re.IGNORECASE),
        "address": ipaddress.ip_address("10.0.0.1"),
        "network": ipaddress.ip_network("fd00::/8"),
        "bytes": b"\x00\xff",
        "byte_array": bytearray(b"ab"),
        "infinite": float("inf"),
        "big": 2**63 + i,
        "error": ValueError("no"),
        "text": "é \U0001f600",
    }


def _of_langchain(i: int) -> dict[str, Any]:
    return {
        "document": Document(page_content="p", metadata={"colour": Colour.RED, "moment": MOMENT}),
        "cited": Cited(page_content="p", source=Colour.BLUE),
        "ai": AI,
        "tool": ToolMessage("t", tool_call_id="c", artifact={"thing": Thing(name="a")}),
        "question": Question("q", topic=f"t{i}"),
        "removal": RemoveMessage("1"),
        "messages": [HumanMessage("h", id="2"), AI, Step("x")],
        "send": Send("nowhere", {"thing": Thing(name="s"), "colour": Colour.RED}),
        "command": Command(update={"thing": Thing(name="c")}, goto="nowhere"),
        "item": StoreItem(value={"a": 1}, key="k", namespace=("n",), created_at=MOMENT, updated_at=MOMENT.replace(day=3)),
    }


def values(i: int) -> dict[str, Any]:
    """Returns a value of each shape whose class is there before a node is run."""
    return {**_of_pydantic(i), **_of_data(i), **_of_collections(i), **_of_python(i), **_of_langchain(i)}


SHAPES = [*values(0), "late"]


def all_values(i: int) -> dict[str, Any]:
    """Returns a value of each shape, as a node does."""
    from lazily.models import Late

    return {**values(i), "late": Late(n=i)}


def form_of(value: Any) -> Any:
    """Returns a value as JSON that tells each class in it."""
    kind = type(value).__qualname__
    if isinstance(value, enum.Enum):
        return f"{kind}: {value!r}"
    if isinstance(value, BaseModel):
        fields = {name: form_of(getattr(value, name, "none")) for name in type(value).model_fields}
        more = [value.model_extra, sorted(value.model_fields_set), value.__pydantic_private__]
        return {kind: fields, "more": [form_of(one) for one in more]}
    if isinstance(value, pydantic.v1.BaseModel):
        return {kind: {name: form_of(one) for name, one in value}}
    if dataclasses.is_dataclass(value):
        return {kind: {one.name: form_of(getattr(value, one.name, "none")) for one in dataclasses.fields(value)}}
    if isinstance(value, (SecretStr, SecretBytes, Hidden)):
        return {kind: str(value.get_secret_value())}
    if isinstance(value, (Dumped, Plain)):
        return {kind: value.n}
    if isinstance(value, dict):
        return {kind: [[form_of(key), form_of(one)] for key, one in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {kind: sorted(str(form_of(one)) for one in value)}
    if isinstance(value, (list, tuple)):
        return {kind: [form_of(one) for one in value]}
    if isinstance(value, deque):
        return {kind: [value.maxlen, *(form_of(one) for one in value)]}
    if isinstance(value, StoreItem):
        return {kind: form_of(value.dict())}
    if isinstance(value, Send):
        return {kind: [value.node, form_of(value.arg)]}
    return f"{kind}: {value!r}"


def forms_of(found: Any) -> dict[str, Any]:
    """Returns the form of each shape that is there."""
    return {shape: form_of(found[shape]) for shape in SHAPES if shape in found and found[shape] is not None}
