"""The Python twin of weather.ts: stops two graphs down, before the weather of a city is told."""

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    question: str
    answer: str


class Weather(State, total=False):
    city: str


weather = (
    StateGraph(Weather)
    .add_node("model_node", lambda _: {"city": "San Francisco"})
    .add_node("weather_node", lambda state: {"answer": f"It is sunny in {state['city']}."})
    .add_edge(START, "model_node")
    .add_edge("model_node", "weather_node")
    .add_edge("weather_node", END)
    .compile(interrupt_before=["weather_node"])
)

region = StateGraph(State).add_node("weather", weather).add_edge(START, "weather").add_edge("weather", END).compile()

graph = StateGraph(State).add_node("region", region).add_edge(START, "region").add_edge("region", END).compile()
