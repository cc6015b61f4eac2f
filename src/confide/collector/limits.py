"""Limits of a collector that no operator sets: what one side may send, hold or wait for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CollectorLimits:
    """Limits of a collector and of its clients; those that an operator sets are in `Settings`.

    Attributes
    ----------
    patience, first_patience
        Seconds for which a client tries a request again, and for which it does where nobody ever answered: a wrong
        address is likelier than a collector that is away.
    longest_wait
        Seconds that a client waits at a time, whatever the collector says.
    most_strange
        Answers that are no collector's, after which a client gives up on a request.
    batch_size
        Reports in a message of `confide send`.
    window, longest_window
        Days back that a report may be of, by default and at most.
    lock_seconds
        Seconds that a transaction waits for one of another process, and that a connection may take.
    most_known, longest_known
        Accepted reports whose canonical text is remembered, at most 4 MB of them, and the characters up to which one
        is: vectors of bits, which are longer, hardly ever come again.
    light
        Bytes up to which a message is unpacked and parsed on the event loop, if it has few parts as well.
    free
        Bytes of a message that come in before there is room for it: the server reads as many at once in any case.
    most_together
        Batches in one transaction, so that the first of them does not wait for long.
    most_waiting, most_waiting_each
        How many may wait for room, in total and of one address: nothing else bounds those who send and leave at once.
    most_refused
        Refusals that one address gets in a second before it has to wait: a device is hardly ever refused.
    refresh_seconds
        Seconds between two looks at what other processes changed.
    most_header_bytes
        Bytes of all headers together; those of browsers have a few thousand.
    header_seconds
        Seconds that headers may take to arrive after the last answer, and the rest of a message that nobody reads.
    answer_seconds, ending_seconds
        Seconds that an answer may take to be read, and those when the server ends.
    most_pipelined
        Requests on one connection that wait for the answer to an earlier one.
    spare_files
        Files that the store and the rest of the process may open beside the connections.
    most_kept
        Answers that are kept: the last of each kind and survey, as long as no report comes.
    """

    patience: float = 60.0
    first_patience: float = 15.0
    longest_wait: float = 30.0
    most_strange: int = 6
    batch_size: int = 1_000
    window: int = 7
    longest_window: int = 3660
    lock_seconds: float = 5.0
    most_known: int = 2**14
    longest_known: int = 64
    light: int = 2**15
    free: int = 2**16
    most_together: int = 1_000
    most_waiting: int = 1_024
    most_waiting_each: int = 256
    most_refused: int = 100
    refresh_seconds: float = 1.0
    most_header_bytes: int = 32 * 1024
    header_seconds: float = 10.0
    answer_seconds: float = 60.0
    ending_seconds: float = 5.0
    most_pipelined: int = 16
    spare_files: int = 64
    most_kept: int = 64


LIMITS = CollectorLimits()
