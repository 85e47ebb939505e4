"""Lists that change at random are stored as changes, and read again as they were. Ends with an error where one is not."""

import asyncio
import copy
import random
from typing import Any

from graphs.listing import edits
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from gx_runner.checkpoints.elements import Element, Loader, build_mark, estimate_bytes
from gx_runner.checkpoints.elements import decode_elements as objects_of
from gx_runner.wall.encode import to_json
from gx_runner.checkpoints.lists import (
    ListRow,
    ListVersion,
    replace_base,
    match_elements,
    build_lists,
    build_next_list,
)
from gx_runner.checkpoints.remembered import Lists
from gx_runner.checkpoints.saver import Saver, Storage
from gx_runner.checkpoints.texts import LastLists, encode_state
from gx_runner.wall.wire import Answer

serde = JsonPlusSerializer(allowed_msgpack_modules=None)
loader = Lists().get_loader(serde)
numbers = iter(range(10**9))


def dumps(value: Any) -> bytes | None:
    kind, blob = serde.dumps_typed(value)
    return blob if kind == "msgpack" else None


def element(by: random.Random) -> Any:
    at = next(numbers)
    usage = {"input_tokens": at, "output_tokens": 1, "total_tokens": at + 1}
    call = {
        "name": "look",
        "args": {"at": at, "deep": [1, {"true": True}]},
        "id": str(at),
    }
    return by.choice(
        [
            lambda: HumanMessage("x" * by.randint(0, 40), id=str(at)),
            lambda: AIMessage(
                [{"type": "text", "text": "y"}],
                id=str(at),
                usage_metadata=usage,
                tool_calls=[call],
            ),
            lambda: ToolMessage("z", tool_call_id=str(at), artifact={"set": {at}}),
            lambda: {"at": at, "parts": [1, 1.5, None, "t"]},
            lambda: at,
            lambda: (at, "a pair"),
        ]
    )()


def change_in_place(value: Any, by: random.Random) -> None:
    if isinstance(value, AIMessage) and by.random() < 0.5:
        value.tool_calls[0]["args"]["deep"][1]["true"] = 1
    elif isinstance(value, (HumanMessage, AIMessage, ToolMessage)):
        value.content = f"changed {next(numbers)}"
    elif isinstance(value, dict):
        value["parts"].append(next(numbers))


def edit(values: list[Any], by: random.Random) -> list[Any]:
    """Returns the next list, as a graph would return it, which may change its elements in place."""
    does = by.choice(
        ["append"] * 12
        + ["change"] * 4
        + ["delete", "insert", "cut", "shuffle", "twice", "clear"]
    )
    if does == "change" and values:
        change_in_place(by.choice(values), by)
    elif does == "delete" and values:
        del values[by.randrange(len(values))]
    elif does == "insert":
        values.insert(by.randint(0, len(values)), element(by))
    elif does == "cut":
        values = values[by.randint(0, 12) :]
    elif does == "shuffle":
        by.shuffle(values)
    elif does == "twice" and values:
        values.append(copy.deepcopy(by.choice(values)))
    elif does == "clear" and by.random() < 0.2:
        values = []
    return [*values, *(element(by) for _ in range(by.randint(0, 3)))]


def read(
    rows: dict[str, ListRow], version: str, known: dict[Any, ListVersion]
) -> ListVersion:
    """Returns a version from the rows that a server sends for it: those down to a whole one, or to one that is known."""
    chain: list[ListRow] = []
    at: str | None = version
    while at is not None and rows[at].key not in known:
        chain.append(rows[at])
        at = rows[at].content["base"]
    random.shuffle(chain)
    assert len(chain) <= 64 + len(rows) / 64 + 1, "a reader reads too many rows"
    return build_lists(chain, known)[("", "messages", version)]


def live(version: ListVersion) -> bytes:
    return dumps(objects_of(version.elements, loader)) or b""


def play(seed: int) -> None:
    by = random.Random(seed)
    rows: dict[str, ListRow] = {}
    wanted: dict[str, bytes] = {}
    before: ListVersion | None = None
    values: list[Any] = []
    for number in range(by.randint(2, 160)):
        values = edit(values, by)
        version = f"{number:010}"
        new = match_elements(values, before.elements if before else (), loader, dumps)
        assert new is not None
        made = build_next_list(before, version, new)
        rows[version] = ListRow(("", "messages", version), made.row, made.blob)
        wanted[version] = dumps(values) or b""
        assert made.list.stored <= 2 * len(values) + 64 or made.row["base"] is None
        assert replace_base(made.list, made.row["base"]) is made.list
        before = made.list
        if by.random() < 0.5:
            # The next run gets objects of its own. It may be another process's, which knows nothing or an older version.
            known = {} if by.random() < 0.5 else {("", "messages", version): before}
            before = read(rows, version, known)
            values = objects_of(before.elements, loader)
        elif by.random() < 0.05:
            before = replace_base(before, None)
            rows[version] = ListRow(
                ("", "messages", version),
                build_next_list(None, version, match_elements(values, (), loader, dumps)).row,
                b"".join(one.blob for one in before.elements),
            )
    for version, text in wanted.items():
        assert live(read(rows, version, {})) == text, (
            f"seed {seed}: version {version} is another one"
        )


def texts(seed: int) -> None:
    """The JSON of a state that is put together from earlier parts is that of the whole, whatever a step has changed."""
    by = random.Random(seed)
    lists: dict[str, ListVersion] = {}
    values: list[Any] = [element(by) for _ in range(by.choice([0, 5, 600]))]
    for number in range(12):
        values = edit(values, by)
        odd = by.choice(["t", "\ud800", 2**70])
        state = {"messages": values, "other": ["a", {1, 2}], "odd": odd, "more": {1: values[:2]}}
        for last in [None, LastLists(lists, loader, {})]:
            for over in [False, True]:
                assert encode_state(state, last, over=over) == to_json(state), f"seed {seed}: another text"
        new = match_elements(values, lists["messages"].elements if lists else (), loader, dumps)
        if new is None:
            return
        lists = {"messages": build_next_list(lists.get("messages"), str(number), new).list}
        for own in [{}, {"messages": values}]:
            last = LastLists(lists, loader, own)
            assert encode_state(state, last, over=True) == to_json(state)
            assert encode_state([values], last, over=True) == to_json([values])
        # Nodes that are still to come may change the objects of a step, and other lists are not those that it stored.
        changed = edit(values, by)
        assert encode_state({"messages": changed}, last, over=True) == to_json({"messages": changed})
        values[:] = changed
        assert encode_state({"messages": values}, last, over=False) == to_json({"messages": values})


def marks() -> None:
    moved, added = AIMessage("a", id="1"), AIMessage("a", id="1")
    moved.additional_kwargs = {"b": 1}
    added.additional_kwargs["b"] = 1
    word = type("Word", (str,), {})("a")
    message = AIMessage("a", id="1")
    for one, other in [
        *[
            (1, True),
            (1, 1.0),
            (0.0, -0.0),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": [1]}, {"a": [True]}),
            ([1], (1,)),
        ],
        *[
            (HumanMessage("a", id="1"), message),
            (message, moved),
            (message, added),
            ({1: 0}, {True: 0}),
            ([word], ["a"]),
        ],
    ]:
        assert build_mark(one) is None or build_mark(one) != build_mark(other), (one, other)
    for one in [
        float("nan"),
        0.0,
        {"a": [1, {"b": None}]},
        b"x",
        HumanMessage("a", id="1"),
        "\ud800",
    ]:
        assert build_mark(one) is not None and build_mark(one) == build_mark(
            copy.deepcopy(one)
        ), one
    assert (
        build_mark(ToolMessage("a", tool_call_id="1", artifact={"set": object()})) is None
    )


def gives_own_objects() -> None:
    message = AIMessage("a", id="1", response_metadata={"deep": [{"a": 1}]})
    one = Element(dumps(message) or b"")
    [made] = objects_of([one], loader)
    assert (
        made == message
        and made.model_dump() == message.model_dump()
        and made.model_fields_set == loader.loads(one.blob).model_fields_set
    )
    made.response_metadata["deep"][0]["a"] = 2
    made.content = "b"
    assert objects_of([one], loader) == [message] and one.get_mark(loader) == build_mark(
        message
    ) != build_mark(made)


def forgets() -> None:
    """Lists above the limit are forgotten, those first that were used longest ago."""
    few = Lists(most_bytes=3 * (estimate_bytes([Element(b"x" * 1000)]) + 500))
    for at in range(4):
        made = build_next_list(None, "1", match_elements(["x" * 990], (), loader, dumps))
        few.keep((str(at), "", "c"), {"messages": made.list})
        few.find_lists(("0", "", "c"))
    assert [bool(few.find_lists((str(at), "", "c"))) for at in range(4)] == [
        False,
        True,
        True,
        True,
    ]
    # However many threads have no lists, they take no room.
    for at in range(1000):
        few.keep((f"empty {at}", "", "c"), {})
    assert few.find_lists(("3", "", "c")) and len(few._graphs) == 3


def loads_by_class() -> None:
    """A loader that makes other objects does not get those of another one."""
    one = Element(dumps(HumanMessage("a", id="1")) or b"")
    assert isinstance(objects_of([one], loader)[0], HumanMessage)
    other = Loader(loader.number + 1, lambda blob: {"blob": len(blob)})
    assert objects_of([one], other) == [{"blob": len(one.blob)}]


class Host:
    """Keeps what a saver puts, in the form of its messages, as the server does."""

    def __init__(self) -> None:
        self.puts: dict[str, Any] = {}
        self.values: dict[tuple[str, str], tuple[Any, bytes]] = {}
        self.writes: list[tuple[str, Any, bytes]] = []
        self.rows_read = 0

    def send(self, message: Any, *blobs: bytes) -> None:
        behind = iter(blobs)
        if message["kind"] == "put":
            self.puts[message["checkpoint_id"]] = message
            for value in message["values"]:
                self.values.setdefault(
                    (value["channel"], value["version"]), (value, next(behind))
                )
        else:
            for write in message["writes"]:
                self.writes.append(
                    (
                        message["checkpoint_id"],
                        {"task_id": message["task_id"], **write},
                        next(behind),
                    )
                )

    async def ask(self, message: Any, *blobs: bytes) -> Answer:
        if message["kind"] != "read":
            self.send(message, *blobs)
            return Answer({}, b"")
        ids = sorted(self.puts, reverse=True)
        wanted = [one for one in ids if message.get("checkpoint_id") in (None, one)][
            : message.get("limit")
        ]
        lists: dict[tuple[str, str], tuple[Any, bytes]] = {}
        found, behind = [], []
        for one in wanted:
            put = self.puts[one]
            values = []
            for name, version in put["checkpoint"]["channel_versions"].items():
                if (name, version) not in self.values:
                    continue
                value, blob = self.values[(name, version)]
                if "list" in value:
                    values.append(
                        {
                            "channel": name,
                            "type": value["type"],
                            "version": version,
                            "base": value["list"]["base"],
                        }
                    )
                    self.follow(name, version, message.get("known", []), lists)
                else:
                    values.append(value)
                    behind.append(blob)
            writes = [(write, blob) for at, write, blob in self.writes if at == one]
            behind.extend(blob for _, blob in writes)
            # An answer crosses a socket: what a graph changes in it does not reach what is kept.
            kept = copy.deepcopy(put)
            found.append(
                {**kept, "values": values, "writes": [write for write, _ in writes]}
            )
        rows = [
            {
                **value["list"],
                "namespace": "",
                "channel": name,
                "version": version,
                "blob": len(blob),
            }
            for (name, version), (value, blob) in lists.items()
        ]
        self.rows_read += len(rows)
        blobs_of_lists = b"".join(blob for _, blob in lists.values())
        return Answer(
            {"lists": rows, "checkpoints": found}, blobs_of_lists + b"".join(behind)
        )

    def follow(
        self, name: str, version: str | None, known: list[str], lists: dict[Any, Any]
    ) -> None:
        while (
            version is not None
            and f"{name}\n{version}" not in known
            and (name, version) not in lists
        ):
            lists[(name, version)] = self.values[(name, version)]
            version = self.values[(name, version)][0]["list"]["base"]


async def beside(seed: int) -> None:
    """A graph's states, and those that LangGraph's own saver keeps of the same runs, are the same at each checkpoint."""
    by = random.Random(seed)
    host = Host()
    ours: Any = Saver(host, Storage(serde, Lists()))  # type: ignore[arg-type]
    theirs = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "thread"}}
    for does in [
        "clear",
        *by.choices(
            ["append", "change", "remove", "replace", "clear"], [6, 4, 3, 2, 1], k=30
        ),
    ]:
        given: Any = {"does": does, "at": by.randrange(100)}
        if by.random() < 0.2:
            # Another process goes on.
            ours = Saver(host, Storage(serde, Lists()))  # type: ignore[arg-type]
        for saver in (ours, theirs):
            await edits.copy(update={"checkpointer": saver}).ainvoke(given, config)
    states = [
        [
            one
            async for one in edits.copy(
                update={"checkpointer": saver}
            ).aget_state_history(config)
        ]
        for saver in (ours, theirs)
    ]
    assert len(states[0]) == len(states[1]) > 90
    for one, other in zip(*states, strict=True):
        assert dumps(one.values) == dumps(other.values), (
            f"seed {seed}: {one.metadata} holds other values"
        )
    assert sum("list" in value for value, _ in host.values.values()) > 40
    # A run on a thread that is remembered reads no row of its lists.
    before = host.rows_read
    ours = Saver(host, storage := Storage(serde, Lists()))  # type: ignore[arg-type]
    await edits.copy(update={"checkpointer": ours}).ainvoke({"does": "append"}, config)
    read, before = host.rows_read - before, host.rows_read
    await edits.copy(update={"checkpointer": Saver(host, storage)}).ainvoke(
        {"does": "append"}, config
    )  # type: ignore[arg-type]
    assert read > 0 and host.rows_read == before


marks()
gives_own_objects()
forgets()
loads_by_class()
for seed in range(8):
    play(seed)
for seed in range(30):
    texts(seed)
for seed in range(2):
    asyncio.run(beside(seed))
print("All lists are as they were.")
