from dataclasses import dataclass, field
import os


@dataclass(kw_only=True)
class Context:
    """Whose notes these are."""

    owner: str = "nobody in particular"
    longest: int = 40
    key: str = field(default_factory=lambda: os.environ.get("MODEL_KEY", "no key"))
