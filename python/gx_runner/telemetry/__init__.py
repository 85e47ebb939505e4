"""What runs report of their parts: spans, traces, calls of models."""
