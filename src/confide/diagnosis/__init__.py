"""Diagnosis: what these reports tell, what any number of reports would, and what both rest on."""

from confide.diagnosis.answers import BEYOND_DOUBT, ConcavityChance, Diagnosis, QueryAnswer, diagnose

__all__ = ["BEYOND_DOUBT", "ConcavityChance", "Diagnosis", "QueryAnswer", "diagnose"]
