"""The messages to and from the server: frames, questions, answers, failures."""
