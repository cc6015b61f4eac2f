"""Diagnosis: what these reports tell, what any number of reports would, and what both rest on."""

from confide.diagnosis.answers import ConcavityChance, Diagnosis, QueryAnswer, diagnose

__all__ = ["ConcavityChance", "Diagnosis", "QueryAnswer", "diagnose"]
