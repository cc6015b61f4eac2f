"""Simulated devices: made-up people who answer a survey, so that a newcomer sees a collector run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local

import numpy as np

from confide.alphabets import Integers, Values
from confide.collector.client import Client, Receipt, write_message
from confide.collector.wire import Wire
from confide.datasets import adult_ages
from confide.mechanisms import TruncatedGeometric
from confide.surveys import Survey

AT_ONCE = 32
"""Devices that send at the same time."""


def simulated_survey() -> Survey:
    """Return the survey of simulated devices where none is named: ages, as those of real people.

    Its epsilon is its own: reports of a survey that somebody starts from the studio's template are not mixed with them.
    """
    mechanism = TruncatedGeometric(Integers(0, 99, unit="year"), 0.06)
    return Survey(mechanism, name="age", title="How old are you?")


def simulated_values(survey: Survey, people: int) -> Values:
    """Return the values of made-up people: for ages real ones, anywhere else a hump over the values."""
    generator = np.random.default_rng()
    if survey == simulated_survey():
        return generator.choice(adult_ages().values(), people)
    survey.alphabet.require_listable()
    places = (np.arange(survey.alphabet.size) + 0.5) / survey.alphabet.size
    weights = np.exp(-(((places - 0.4) / 0.2) ** 2)) + 0.05
    return survey.alphabet.decode(generator.choice(places.size, people, p=weights / weights.sum()))


def simulate(url: str, survey: Survey, people: int, tell: Callable[[int], None] | None = None) -> Receipt:
    """Let each of made-up people's devices send one report, many at a time."""
    reports = Wire.of(survey).to_lists(survey.privatize(simulated_values(survey, people), taken=True))
    generator, done, lock, own = np.random.default_rng(), Receipt(0), Lock(), local()
    clients: list[Client] = []

    def send(report: object) -> None:
        nonlocal done
        if not hasattr(own, "client"):
            own.client = Client(url)
            clients.append(own.client)
        groups = {name: str(generator.choice(values)) for name, values in survey.groups.items()}
        found = own.client.post(write_message(survey, [report], groups=groups))
        with lock:
            done += found
            if tell is not None:
                tell(done.accepted)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(send, reports):
            pass
    for client in clients:
        client.hang_up()
    return done
