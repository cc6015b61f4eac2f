"""Surveys: the document that devices and curator share, its fingerprint, and the ledger of what was promised."""
