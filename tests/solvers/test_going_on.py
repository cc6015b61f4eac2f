"""Where one solver ends short another goes on: both are counted, and the better answer is kept."""

from __future__ import annotations

import numpy as np
import pytest

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.evidence.evidence import Evidence
from confide.solve import maximum
from confide.solve.support_newton import Clock, Found, Progress


def test_another_solver_goes_on_from_where_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Evidence(Dense(np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])), np.array([50.0, 20.0, 30.0]))
    starts: list[FloatArray] = []
    heard: list[int] = []

    def ending_at(theta: list[float], steps: int) -> maximum.Solver:
        def solve(evidence: Evidence, start: FloatArray, _clock: Clock, progress: Progress) -> Found:
            starts.append(start)
            for number in range(1, steps + 1):
                progress(number, evidence.channel.push(np.array(theta)))
            return Found.of(evidence, np.array(theta), steps)

        return solve

    solvers = [ending_at([0.6, 0.4], 3), ending_at([0.99, 0.01], 4)]  # the second one ends farther off
    monkeypatch.setattr(maximum, "_suitable", lambda _evidence: iter(solvers))
    found = maximum.maximise(evidence, Clock(1e-9, 100, 60.0), lambda number, _outputs: heard.append(number))
    assert heard == [1, 2, 3, 4, 5, 6, 7]
    assert (found.iterations, found.distribution.tolist()) == (7, [0.6, 0.4])
    assert [one.tolist() for one in starts] == [[0.5, 0.5], [0.6, 0.4]]
