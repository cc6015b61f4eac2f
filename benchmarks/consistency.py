"""Whether estimates converge to the truth under mechanisms that the paper leaves to future work.

    python -m benchmarks.consistency     # half a minute

For each mechanism and epsilon: the diagnosis's verdicts on identification and consistency, how many of the values are
ever reported, and the condition number of the matrix. A large condition number means that consistency is of theory
alone: some differences between distributions need more reports than there are people.
"""

from __future__ import annotations

import confide as cf
from benchmarks.timing import machine, print_table

AGES, HOURS = cf.Integers(0, 99, unit="year"), cf.Hours()
GRID, HOLED = cf.Grid(10, 10, unit="km"), cf.Grid(10, 10, unit="km", holes=[(0, 0), (4, 4), (4, 5), (9, 3)])


def main() -> None:
    """Print the table."""
    rows = []
    for kind, alphabets in (
        (cf.PlanarGeometric, (GRID, HOLED)),
        (cf.TruncatedPlanarGeometric, (GRID, HOLED)),
        (cf.Exponential, (AGES, HOURS, GRID, HOLED)),
        (cf.BlahutArimoto, (AGES, HOURS, GRID, HOLED)),
    ):
        for alphabet in alphabets:
            for epsilon in (0.05, 0.2, 1.0, 3.0):
                mechanism = kind(alphabet, epsilon)  # type: ignore[arg-type]  # as paired above
                found = cf.diagnose(None, mechanism)
                spectrum, reported = found.identification.spectrum, getattr(mechanism, "reported", None)
                what = {AGES: "100 ages", HOURS: "24 hours", GRID: "10 x 10 cells"}.get(alphabet, "the same, 4 holes")
                rows.append(
                    [
                        mechanism.kind,
                        what,
                        f"{epsilon:g}",
                        str(found.identification.verdict),
                        str(found.consistency.verdict),
                        "all" if reported is None else str(alphabet.size - reported.count(0)),
                        "" if spectrum is None or not found.identification.is_yes else f"{spectrum.condition:.2g}",
                    ]
                )
    title = ["mechanism", "values", "epsilon", "identified", "consistent", "reported", "condition number"]
    print_table("Identification and consistency of mechanisms of future work", title, rows)


if __name__ == "__main__":
    print(machine())
    main()
