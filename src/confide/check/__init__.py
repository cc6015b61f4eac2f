"""Checks: whether reports, shapes and groups are what they are taken to be."""
