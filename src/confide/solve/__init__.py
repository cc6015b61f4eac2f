"""Solvers: EM, the certified maximum, the smooth prior, and the methods."""
