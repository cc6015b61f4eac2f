"""Workers of the studio: processes forked in milliseconds from a loaded one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from multiprocessing import connection, parent_process
from multiprocessing.context import BaseContext
from typing import Any

from confide.errors import ConfideError

ENDED = "The process that worked on this was ended. Ask again."

Tell = Callable[..., None]
"""Callback: parts done, parts in total, the next one in words, and partial results."""


def _context() -> BaseContext:
    """Return the start method.

    Forks of a loaded process, or else new ones.

    Never forks of the server, which would hold its connections and its threads' locks.
    """
    known = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")


def prepare() -> None:
    """Start loading what workers need, in parallel to the caller."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # several threads on busy cores are many times slower than one
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.set_forkserver_preload(["confide.studio.warm"])
        forkserver.ensure_running()


def work(pipe: connection.Connection) -> None:
    """Answer requests from a pipe until it closes.

    The main loop of a worker.
    """
    # Memory limit of a process, so that a huge draft fails and the machine goes on.
    most_memory = 6 * 2**30
    import orjson

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-c ends the server, which then ends us
    with contextlib.suppress(ImportError):  # on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = most_memory if most == resource.RLIM_INFINITY else min(most_memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # the answers contain what they say

    def tell(done: int, of: int, words: str, partial: Any = None) -> None:
        packed = None if partial is None else orjson.dumps(partial, option=orjson.OPT_SERIALIZE_NUMPY)
        pipe.send((done, of, words, packed))

    with contextlib.suppress(EOFError, OSError):  # the server has ended or dropped us
        while True:
            kind, asked = pipe.recv()
            tell(0, 0, "")  # say that work begins: until now the process may have been starting
            pipe.send(_answer(kind, asked, tell))


def _answer(kind: str, asked: dict[str, Any], tell: Tell) -> tuple[str, bytes]:
    """Return an error code, empty on success, and the answer."""
    import orjson

    # Load these in the worker, not in the server.
    from confide.studio import answers, drafts, looks

    kinds: dict[str, Callable[[dict[str, Any], Tell], Any]] = {
        "preview": drafts.preview,
        "trial": drafts.trial,
        "proposal": drafts.proposal,
        "expect": answers.expect,
        "look": looks.look,
        "evidence": looks.evidence,
        "play": answers.play,
        "plan": answers.plan,
        "simulate": answers.simulate,
        "counts": answers.counts_file,
    }
    try:
        found = kinds[kind](asked, tell)
        return "", found if isinstance(found, bytes) else orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)
    except ConfideError as error:
        return "no-answer", str(error).encode()
    except MemoryError:
        said = "This takes more memory than the studio has. Take fewer or coarser values, or another mechanism."
        return "too-large", said.encode()
    except RecursionError:
        return "malformed", b"This is nested too deeply."
    except Exception as error:  # a traceback could contain people's answers; the type of the error is enough
        return "failed", f"This failed here: {type(error).__name__}. Please report it.".encode()


def _end_with_parent() -> None:
    """End at once when the server ends, even during work."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class Worker:
    """A process that does one thing at a time."""

    def __init__(self) -> None:
        prepare()  # only now: a collector whose studio nobody opens starts no process
        context = _context()
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs,), daemon=True)  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()

    def do(self, kind: str, asked: Any, tell: Tell | None) -> tuple[str, bytes]:
        """Return an error code, empty on success, and the answer.

        Call it in a thread.
        """
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
        """Kill the process."""
        self.process.kill()
        self.process.join(5)
        self._pipe.close()
