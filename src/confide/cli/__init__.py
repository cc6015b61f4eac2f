"""The command line: one command a file, joined in main."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def guard() -> None:
    """End the process at once if interrupted before a command is imported.

    Nothing is open yet. An exception would instead pass through half imported packages, and end in the traceback of
    whichever of them happened to be on its way. A handler that is not Python's own (ignored under nohup, for one) was
    put there on purpose, and stays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def unguard() -> None:
    """Let an interruption raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
