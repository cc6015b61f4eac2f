"""Every registered mechanism and method takes part in the laws."""

from tests.laws.examples import FAMILIES, METHOD_EXAMPLES

from confide.mechanisms import MECHANISMS
from confide.solve.methods import METHODS


def test_every_mechanism_has_a_family() -> None:
    lacking = MECHANISMS.keys() ^ FAMILIES.keys()
    assert not lacking, f"give {sorted(lacking)} a Family in tests/laws/examples.py, or take it out"


def test_every_family_holds_its_own_kind() -> None:
    for kind, family in FAMILIES.items():
        members = [*family.examples, family.faithful, *(one for pair in family.sampled for one in pair)]
        assert {type(member) for member in members} == {MECHANISMS[kind]}


def test_every_mechanism_is_registered_under_its_kind() -> None:
    assert {kind: mechanism.kind for kind, mechanism in MECHANISMS.items()} == {kind: kind for kind in MECHANISMS}


def test_every_method_has_examples() -> None:
    lacking = METHODS.keys() ^ METHOD_EXAMPLES.keys()
    assert not lacking, f"give {sorted(lacking)} settings in tests/laws/examples.py, or take it out"


def test_every_method_example_is_of_its_kind() -> None:
    for name, examples in METHOD_EXAMPLES.items():
        assert examples
        assert {type(example) for example in examples} == {type(METHODS[name])}


def test_names_in_tables_differ() -> None:
    assert len({method.name for method in METHODS.values()}) == len(METHODS)
