"""Diagnosis: what these reports tell, what any number of reports would, and what both rest on."""

from confide.estimates.diagnosis.answers import ConcavityChance, Diagnosis, QueryAnswer, diagnose, why_undivided

__all__ = ["ConcavityChance", "Diagnosis", "QueryAnswer", "diagnose", "why_undivided"]
