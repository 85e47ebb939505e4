def polite(text: str) -> str:
    return f"{text}, please"
