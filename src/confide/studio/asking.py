"""Questions and methods that a look may ask for: refused where they come in, before any work begins."""

from __future__ import annotations

from confide.checks import check_choice
from confide.errors import InvalidParameterError
from confide.methods import METHODS

MOST_QUERIES = 20
"""Questions at a time."""

LONGEST_QUERY = 1000
"""Characters of a question."""


def chosen_queries(queries: object) -> list[str]:
    """Return questions, each once."""
    if not isinstance(queries, list) or len(queries) > MOST_QUERIES or not all(isinstance(one, str) for one in queries):
        raise InvalidParameterError(f"queries must be a list of at most {MOST_QUERIES} questions, such as age >= 65.")
    longest = max(map(len, queries), default=0)
    if longest > LONGEST_QUERY:
        raise InvalidParameterError(f"A question has at most {LONGEST_QUERY:,} characters; this one has {longest:,}.")
    return list(dict.fromkeys(queries))


def chosen_methods(names: object) -> list[str]:
    """Return methods by their names on the command line, each once."""
    if not isinstance(names, list) or len(names) > len(METHODS):
        raise InvalidParameterError(f"methods must be a list of {', '.join(METHODS)}.")
    for name in names:
        check_choice("methods", name, tuple(METHODS))
    return list(dict.fromkeys(names))
