from dataclasses import dataclass
from enum import Enum
from operator import add
from typing import Annotated

from typing_extensions import TypedDict

from pydantic import BaseModel


class Mood(Enum):
    CALM = "calm"
    LOUD = "loud"


class Note(BaseModel):
    text: str
    mood: Mood


@dataclass
class Profile:
    owner: str
    written: int = 0


class State(TypedDict, total=False):
    said: str
    notes: Annotated[list[Note], add]
    profile: Profile
    moods: set[Mood]
    told: str
