"""Surveys: the shared document, its fingerprint, and the ledger."""
