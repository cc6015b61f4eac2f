"""What was declared decides keys and seeds, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import confide as cf
from reproduction import EXPERIMENTS, Binomial, Blur, Bundled, Comparison
from reproduction.cells import Contender, Draw
from reproduction.declarations import fingerprint, seed_of

DRAW = Draw(Bundled("adult_ages"), Blur("truncated-geometric", 0.05), 3)
IBU = Contender(cf.IBU(delta=0.01))
SEED, OTHER_SEED = 3217343232970820097, 6638425569553001019
ROOT = Path(__file__).parent.parent.parent


def test_seeds_are_frozen() -> None:
    """Tables of former runs can be recomputed from their seeds: a change here breaks that promise."""
    assert DRAW.seed == SEED
    assert Draw(Bundled("manhattan", 1000), Blur("truncated-taxicab", 1.0), 0).seed == OTHER_SEED


def test_seeds_are_the_same_in_another_process() -> None:
    script = (
        "from reproduction import Blur, Bundled\n"
        "from reproduction.cells import Draw\n"
        "print(Draw(Bundled('adult_ages'), Blur('truncated-geometric', 0.05), 3).seed)"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(told.stdout) == DRAW.seed


def test_every_draw_has_a_seed_of_its_own() -> None:
    draws = {
        (draw.source, draw.blur.kind, draw.blur.epsilon, draw.repeat): draw.seed
        for experiment in EXPERIMENTS.values()
        if isinstance(experiment, Comparison)
        for draw in experiment.draws(5)
    }
    assert len(set(draws.values())) == len(draws)


def test_methods_do_not_change_the_seed_and_levels_do() -> None:
    assert replace(DRAW, blur=Blur("truncated-geometric", 0.05, is_stored=True)).seed == DRAW.seed
    changed = [
        replace(DRAW, repeat=4),
        replace(DRAW, blur=Blur("truncated-geometric", 0.06)),
        replace(DRAW, blur=Blur("truncated-laplace", 0.05)),
        replace(DRAW, source=Bundled("adult_ages", 1000)),
        replace(DRAW, source=Bundled("adult_ages_train")),
    ]
    assert len({DRAW.seed, *(draw.seed for draw in changed)}) == 1 + len(changed)


def test_a_changed_method_is_another_cell() -> None:
    starts = [np.array([0.2, 0.8]), np.array([0.3, 0.7])]
    methods = [
        cf.IBU(),
        cf.IBU(delta=0.1),
        cf.IBU(stop="held-out"),
        *(cf.IBU(start=start) for start in starts),
        cf.MLE(),
    ]
    keys = {DRAW.key(Contender(method), is_kept=False) for method in methods}
    assert len(keys) == len(methods)
    assert DRAW.key(IBU, is_kept=True) != DRAW.key(IBU, is_kept=False)


def test_fingerprints_tell_types_and_values_apart() -> None:
    things = [1, "1", 1.5, None, True, (1, 2), (2, 1), {"a": 1}, np.array([1.0]), np.array([[1.0]]), Binomial(5, 0.5)]
    assert len({fingerprint(thing) for thing in things}) == len(things)
    assert seed_of("a", "b") != seed_of("ab")
