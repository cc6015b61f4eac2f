"""Process that works for the studio: one thing at a time, told of its progress, ended by being killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Callable
from multiprocessing import connection, parent_process
from typing import Any

import orjson

from confide.errors import ConfideError
from confide.studio.answers import counts_file, expect, play, simulate
from confide.studio.looks import look
from confide.studio.outlooks import plan, rivals
from confide.studio.previews import preview, trial
from confide.studio.workers import Tell

KINDS: dict[str, Callable[[dict[str, Any], Tell], Any]] = {
    "preview": preview,
    "trial": trial,
    "expect": expect,
    "look": look,
    "play": play,
    "plan": plan,
    "rivals": rivals,
    "simulate": simulate,
    "counts": counts_file,
}

NUMPY = orjson.OPT_SERIALIZE_NUMPY

MOST_MEMORY = 6 * 2**30
"""Bytes that one process may take: a draft that asks for more fails, and the machine goes on."""

TOO_MUCH = "This takes more memory than the studio has. Take fewer or coarser values, or another mechanism."


def work(pipe: connection.Connection) -> None:
    """Do what comes through a pipe, one thing after another, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-c ends the server, which then ends us
    _limit_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # what they say stands in the answers

    def tell(done: int, of: int, words: str, partial: Any = None) -> None:
        pipe.send((done, of, words, None if partial is None else orjson.dumps(partial, option=NUMPY)))

    with contextlib.suppress(EOFError, OSError):  # the server has ended, or does not want it any more
        while True:
            kind, asked = pipe.recv()
            tell(0, 0, "")  # it begins: until now the process may have been starting
            pipe.send(_answer(kind, asked, tell))


def _answer(kind: str, asked: dict[str, Any], tell: Tell) -> tuple[str, bytes]:
    """Return a code, empty where all is well, and an answer as JSON or what went wrong."""
    try:
        found = KINDS[kind](asked, tell)
        return "", found if isinstance(found, bytes) else orjson.dumps(found, option=NUMPY)
    except ConfideError as error:
        return "no-answer", str(error).encode()
    except MemoryError:
        return "too-large", TOO_MUCH.encode()
    except RecursionError:
        return "malformed", b"This is nested too deeply."
    except Exception as error:  # a traceback could hold what people said; the kind of error says enough
        return "failed", f"This failed here: {type(error).__name__}. Please report it.".encode()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def _end_with_parent() -> None:
    """End at once when the server does, in the middle of whatever this is at."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
