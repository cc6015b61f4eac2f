"""Cases of a quick law in one test: to make, to set up and to tell of a test takes longer than most cases of a law."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


class Extent:
    """How many cases are tried; `--quick` sets it to the first alone."""

    is_first_enough = False


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Do as `pytest.mark.parametrize` does, with one test for all cases; a failure has a note that names its case.

    For laws whose case takes a few milliseconds, and that keep nothing in their fixtures.
    """
    split = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(cases)
    rows = [(case,) if len(split) == 1 else tuple(case) for case in listed]
    if ids is None or callable(ids):
        titles = [", ".join(str((ids or repr)(one)) for one in row) for row in rows]
    else:
        titles = [str(one) for one in ids]
    assert rows, f"no cases of {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*arguments: Any, **fixtures: Any) -> None:
            chosen, skipped = rows[: 1 if Extent.is_first_enough else None], []
            for row, title in zip(chosen, titles, strict=False):
                try:
                    test(*arguments, **dict(zip(split, row, strict=True)), **fixtures)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except BaseException as failure:
                    failure.add_note(f"In the case {title}.")
                    raise
            if len(skipped) == len(chosen):  # nothing was tried, which must not look like a pass
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in split]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate
