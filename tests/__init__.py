"""Tests. A package of their own, so that one that an installed package ships as `tests` is not imported instead."""
