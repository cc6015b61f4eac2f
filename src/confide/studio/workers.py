"""Workers of the studio: processes that compute, each copied in milliseconds from one that has everything loaded."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import BaseContext
from typing import Any

ENDED = "The process that worked on this was ended. Ask again."

Tell = Callable[..., None]
"""Told how many parts are done, of how many, which is next and, as JSON, what is known so far."""

LOADED = ["confide.studio.warm"]
"""What the process that workers are copied from loads."""


def _context() -> BaseContext:
    """Return how processes are made: as copies of a loaded one, where there are such; else started anew.

    Never as copies of the server, which would hold its connections and its threads' locks.
    """
    known = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")


def prepare() -> None:
    """Begin to load what workers need, beside whatever else is loaded meanwhile."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # several threads on busy cores are many times slower than one
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.set_forkserver_preload(LOADED)
        forkserver.ensure_running()


def _begin(pipe: Any) -> None:
    """Work, in the process: what that takes is loaded there, and not in the server."""
    from confide.studio.working import work

    work(pipe)


class Worker:
    """A process that does one thing at a time."""

    def __init__(self) -> None:
        prepare()  # where nobody did it before: a collector whose studio nobody opens starts no process for it
        context = _context()
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_begin, args=(theirs,), daemon=True)  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()

    def do(self, kind: str, asked: Any, tell: Tell | None) -> tuple[str, bytes]:
        """Return a code, empty where all is well, and an answer as JSON or what went wrong; in a thread."""
        try:
            self._pipe.send((kind, asked))
            while True:
                said = self._pipe.recv()
                if len(said) == 2:
                    return str(said[0]), bytes(said[1])
                if tell is not None:
                    tell(*said)
        except (EOFError, OSError):
            return "ended", ENDED.encode()

    def end(self) -> None:
        """Kill the process, whatever it is at."""
        self.process.kill()
        self.process.join(5)
        self._pipe.close()
