"""The graphs of a project, and what they are given: modules, settings, a store, clients."""
