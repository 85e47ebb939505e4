from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from notes.context import Context
from notes.state import Mood, Note, Profile, State


async def take(state: State, runtime: Runtime[Context]) -> State:
    text = state["said"][: runtime.context.longest]
    mood = Mood.LOUD if text.endswith("!") else Mood.CALM
    profile = state.get("profile") or Profile(owner=runtime.context.owner)
    profile.written += 1
    return {"notes": [Note(text=text, mood=mood)], "profile": profile, "moods": state.get("moods", set()) | {mood}}


async def tell(state: State) -> State:
    loud = [note.text for note in state["notes"] if note.mood is Mood.LOUD]
    moods = ", ".join(sorted(mood.name for mood in state["moods"]))
    return {"told": f"{state['profile'].owner}: {len(state['notes'])} notes, {len(loud)} loud, moods {moods}"}


graph = (
    StateGraph(State, context_schema=Context)
    .add_node(take)
    .add_node(tell)
    .add_edge(START, "take")
    .add_edge("take", "tell")
    .add_edge("tell", END)
    .compile(name="Notes")
)
