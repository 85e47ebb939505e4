"""The checkpointer: steps become rows that the server stores, and rows become states again."""
