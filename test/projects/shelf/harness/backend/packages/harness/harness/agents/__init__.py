from harness.agents.lead import make_lead_agent

__all__ = ["make_lead_agent"]
