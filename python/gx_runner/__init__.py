"""Runs LangGraph's Python graphs behind the wall, by the messages of src/schema/wire/wall/runner.ts."""
