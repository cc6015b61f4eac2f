"""The table of planted faults keeps up with the code: `make mutants` itself takes minutes."""

from __future__ import annotations

import pytest
from tests.mutants.table import ROOT, Fault, read_faults

FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.why}")
def test_a_fault_can_be_planted_and_its_tests_are_there(fault: Fault) -> None:
    sound = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.plant(sound) != sound
    if fault.file.endswith(".py"):
        compile(fault.plant(sound), fault.file, "exec")
    for test in fault.tests:
        assert (ROOT / test.partition("::")[0]).exists(), test


def test_there_are_enough_and_none_twice() -> None:
    assert len(FAULTS) >= 37
    assert len({(fault.file, fault.what, fault.instead) for fault in FAULTS}) == len(FAULTS)
