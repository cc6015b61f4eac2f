"""Entry point of the command `confide`, and of `python -m confide`: it stands guard while the rest is imported."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    # Nothing is open yet, so an interruption may end the process on the spot. An exception would instead pass through
    # half imported packages, and end in the traceback of whichever of them happened to be on its way. A handler that is
    # not Python's own (ignored under nohup, for one) was put there on purpose, and stays.
    is_guarded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_guarded:
        signal.signal(signal.SIGINT, _leave)
    from confide.cli.main import run

    if is_guarded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
