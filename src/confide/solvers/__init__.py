"""Solvers: one EM, the certified maximum of the likelihood, the smooth prior, and the methods that use them."""
