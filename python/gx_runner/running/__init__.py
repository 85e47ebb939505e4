"""Runs of graphs from the first message to the outcome, and the states of their threads."""
