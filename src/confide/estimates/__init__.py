"""Estimates: answers with their intervals, for one population or for groups, and what the mechanism allows to know."""
