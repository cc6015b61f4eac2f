"""Surveys whose reports are drawn as vectors: every mechanism, the alphabets that it takes, extreme epsilons."""

from __future__ import annotations

import confide as cf

WORDS = cf.Categories(["yes", "no", "don't know", "\N{SNOWMAN}", "Saint-\u00c9tienne"])
ANSWERS = cf.Categories(
    ["Paris", "Lyon", "elsewhere"], fold=True, aliases={"Paris": ["Lutetia", "Paname"]}, other="elsewhere"
)
NUMBERS = cf.Categories([7, 3, 12])
TWO = cf.Categories(["f", "m"])
MANY = cf.Categories([f"word {number}" for number in range(70)])
AGES = cf.Integers(18, 67, unit="year")
BELOW_ZERO = cf.Integers(-3, 3, spacing=0.1)
FULL_TABLE, LONG = cf.Integers(0, 255), cf.Integers(-100, 199, spacing=0.25)
HUGE = cf.Integers(-(2**40), 2**40)
THREE = cf.Integers(0, 2)
ALL = cf.Integers(unit="step")
LARGEST, LOWEST = cf.Integers(2**53 - 9, 2**53 - 1), cf.Integers(1 - 2**53, 9 - 2**53)
EQUAL = cf.Bins(0, 1, 0.1, above=True, unit="thousand")
UNEVEN = cf.Bins(edges=[0, 10, 20, 50, 100], below=True, above=True, unit="thousand")
FAR = cf.Bins(edges=[0, 0.5, 1, 250, 1000])
SCALE = cf.Scale(["never", "rarely", "often", "always"], unit="step", fold=True)
TIMES = cf.Scale(["never", "yearly", "quarterly", "monthly"], positions=[0, 1, 4, 12])
DAYS, WEEKS = cf.Dates("2026-01-01", "2026-12-31"), cf.Dates("2026-W01", "2026-W20", every="week")
MONTHS, QUARTERS = cf.Dates("2025-11", "2026-12", every="month"), cf.Dates("2025-Q3", "2026-Q4", every="quarter")
YEARS = cf.Dates("1990", "2026", every="year")
HOURS, WEEKDAYS, CIRCLE, RING = cf.Hours(), cf.Weekdays(), cf.Circle(12, "month"), cf.Circle(300)
GRID, HOLED = (
    cf.Grid(4, 5, spacing=0.5, unit="km"),
    cf.Grid(4, 5, spacing=0.5, unit="km", holes=[(0, 0), (1, 3), (2, 3)]),
)
SHIFTED = cf.Grid(3, 6, spacing=0.5, unit="km", first_row=-1, first_column=2, holes=[(0, 4)])
WIDE, TALL = cf.Grid(17, 16), cf.Grid(300, 2)
LATTICE = cf.Lattice(0.5, "km")
PLACES = cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="2 km")
SHORE = cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="2 km", holes=[(0, 0), (4, 1)])
COORDINATES = cf.Coordinates(40.7044, -74.0205, 40.7942, -73.9374)
PEOPLE = cf.Attributes(age=cf.Integers(0, 4), sex=TWO, home=cf.Grid(2, 2, holes=[(0, 1)]))

RR, Rappor, Exponential = cf.RandomizedResponse, cf.Rappor, cf.Exponential
Geo, TGeo, Lap, TLap = cf.Geometric, cf.TruncatedGeometric, cf.Laplace, cf.TruncatedLaplace

MATRIX = [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.25, 0.25, 0.5]]
WITH_ZEROS = [[0.5, 0.5, 0.0, 0.0], [0.0, 1e-300, 1.0, 0.0]]

MECHANISMS: dict[str, list[cf.Mechanism]] = {
    "randomized-response": [
        *(
            RR(one, 1.0)
            for one in (WORDS, ANSWERS, NUMBERS, TWO, AGES, HOLED, PEOPLE, SCALE, HOURS, UNEVEN, DAYS, SHORE)
        ),
        *(RR(WORDS, epsilon) for epsilon in (1e-9, 0.1, 30.0, 100.0)),
        RR(HUGE, 5.0),
        RR(cf.Integers(0, 256), 0.5),
        RR(cf.Integers(0, 70_000), 0.5),
    ],
    "rappor": [
        *(Rappor(one, 1.0) for one in (WORDS, MANY, AGES, HOLED, PEOPLE, WEEKDAYS)),
        *(Rappor(WORDS, epsilon) for epsilon in (1e-9, 0.3, 20.0, 100.0)),
        Rappor(cf.Integers(1, 64), 2.0),
    ],
    "optimized-unary": [
        *(cf.OptimizedUnary(one, 1.0) for one in (WORDS, MANY, HOLED, PEOPLE)),
        *(cf.OptimizedUnary(WORDS, epsilon) for epsilon in (1e-9, 0.3, 20.0, 100.0)),
    ],
    "subset-selection": [
        *(cf.SubsetSelection(one, 1.0) for one in (WORDS, MANY, HOLED, PEOPLE)),
        *(cf.SubsetSelection(WORDS, epsilon) for epsilon in (1e-9, 20.0)),
        cf.SubsetSelection(WORDS, 1.0, members=4),
    ],
    "local-hashing": [
        *(cf.LocalHashing(one, 1.0) for one in (WORDS, MANY, HOLED, PEOPLE)),
        *(cf.LocalHashing(WORDS, epsilon) for epsilon in (1e-9, 20.0)),
        cf.LocalHashing(cf.Integers(0, 70_000), 2.0, seeds=1000),
        cf.LocalHashing(WORDS, 1.0, buckets=2, seeds=2**20),
    ],
    "square-wave": [
        *(cf.SquareWave(one, 1.0) for one in (AGES, BELOW_ZERO, SCALE, TIMES, MONTHS, DAYS, EQUAL, UNEVEN)),
        *(cf.SquareWave(one, 0.5) for one in (HOURS, WEEKDAYS, CIRCLE, RING, LONG)),
        *(cf.SquareWave(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 4.0, 100.0)),
        cf.SquareWave(cf.Integers(0, 70_000), 2.0),
        *(cf.SquareWave(cf.Integers(-3, 9), 1.0, width=width) for width in (0, 5, 12)),
    ],
    "hadamard-response": [
        *(cf.HadamardResponse(one, 2.0) for one in (WORDS, MANY, HOLED, PEOPLE)),
        *(cf.HadamardResponse(WORDS, epsilon) for epsilon in (1e-9, 0.3, 20.0, 100.0)),
        *(cf.HadamardResponse(MANY, 1.0, blocks=blocks) for blocks in (1, 16, 128)),
        cf.HadamardResponse(cf.Integers(0, 70_000), 4.0),
        cf.HadamardResponse(cf.Integers(0, 2**28 - 1), 6.0),
    ],
    "projective-geometry": [
        *(cf.ProjectiveGeometryResponse(one, 1.0) for one in (WORDS, MANY, HOLED, PEOPLE)),
        *(cf.ProjectiveGeometryResponse(WORDS, epsilon) for epsilon in (1e-9, 2.0, 100.0)),
        *(cf.ProjectiveGeometryResponse(MANY, 2.0, order=order) for order in (2, 5, 83)),
        cf.ProjectiveGeometryResponse(MANY, 2.0, order=5, recurrence=(2, 0, 3, 2)),
        cf.ProjectiveGeometryResponse(cf.Integers(0, 2500), 4.0),
    ],
    "planar-square-wave": [
        *(cf.PlanarSquareWave(one, 1.0) for one in (GRID, HOLED, SHIFTED, PLACES, SHORE)),
        *(cf.PlanarSquareWave(cf.Grid(7, 5), epsilon) for epsilon in (1e-9, 4.0, 100.0)),
        *(cf.PlanarSquareWave(GRID, 1.0, radius) for radius in (0, 1, 1.5, 5**0.5, 4.999)),
        cf.PlanarSquareWave(cf.Grid(300, 250), 3.0),
    ],
    "one-bit-mean": [
        *(cf.OneBitMean(one, 1.0) for one in (AGES, BELOW_ZERO, SCALE, TIMES, DAYS, UNEVEN, FAR, HUGE)),
        *(cf.OneBitMean(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 4.0, 100.0)),
        cf.OneBitMean(cf.Integers(3, 4), 1.0),
    ],
    "unary": [
        *(
            cf.Unary(WORDS, keep=keep, flip=flip)
            for keep, flip in ((0.75, 0.25), (0.75, 0.5), (0.9, 0.7), (0.5, 0.125))
        ),
        cf.Unary(MANY, keep=0.6, flip=0.1),
        cf.Unary(HOLED, keep=0.999999, flip=1e-6),
        cf.Unary(WORDS, keep=0.9, flip=0.1),  # whose doubles do not add up to 1
    ],
    "truncated-geometric": [
        *(TGeo(one, 0.7) for one in (AGES, BELOW_ZERO, SCALE, TIMES, MONTHS, WEEKS, QUARTERS, YEARS)),
        *(TGeo(one, 0.05) for one in (EQUAL, UNEVEN, FAR, FULL_TABLE, LONG, DAYS)),
        TGeo(cf.Integers(0, 9), 0.5, cf.Integers(-5, 4)),
        TGeo(LONG, 0.5, cf.Integers(-200, 50, spacing=0.25)),
        *(TGeo(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 0.01, 50.0, 100.0)),
        *(TGeo(cf.Integers(0, 400), epsilon) for epsilon in (1e-6, 3.0, 100.0)),
    ],
    "geometric": [
        *(Geo(one, 0.3) for one in (AGES, ALL, BELOW_ZERO, LONG, HUGE, DAYS, EQUAL)),
        *(Geo(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 1e-3, 2.0, 30.0, 100.0)),
        *(Geo(one, 0.3) for one in (LARGEST, LOWEST)),
    ],
    "truncated-laplace": [
        *(TLap(one, 0.7) for one in (AGES, BELOW_ZERO, SCALE, TIMES, MONTHS)),
        *(TLap(one, 0.05) for one in (EQUAL, UNEVEN, FAR, LONG, DAYS)),
        TLap(cf.Integers(0, 9), 0.5, cf.Integers(-5, 4)),
        *(TLap(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 0.01, 50.0, 100.0)),
        *(TLap(cf.Integers(0, 400), epsilon) for epsilon in (1e-6, 3.0, 100.0)),
    ],
    "laplace": [
        *(Lap(one, 0.3) for one in (AGES, ALL, BELOW_ZERO, LONG, DAYS)),
        *(Lap(cf.Integers(0, 9), epsilon) for epsilon in (1e-6, 2.0, 100.0)),
    ],
    "exponential": [
        *(Exponential(one, 0.8) for one in (WORDS, AGES, BELOW_ZERO, LONG, HOURS, WEEKDAYS, CIRCLE, SCALE, EQUAL)),
        *(Exponential(one, 0.1) for one in (TIMES, UNEVEN)),
        *(Exponential(one, 0.8) for one in (GRID, HOLED, WIDE, PLACES, PEOPLE)),
        *(Exponential(WORDS, epsilon) for epsilon in (1e-9, 100.0)),
        *(Exponential(cf.Integers(0, 300), epsilon) for epsilon in (0.05, 100.0)),
    ],
    "blahut-arimoto": [
        *(cf.BlahutArimoto(one, 0.8) for one in (WORDS, AGES, HOURS, SCALE, EQUAL, GRID, HOLED, PLACES, PEOPLE)),
        *(cf.BlahutArimoto(one, 0.1) for one in (TIMES, UNEVEN)),
        *(cf.BlahutArimoto(cf.Integers(0, 9), epsilon) for epsilon in (1e-9, 3.0, 100.0)),
        cf.BlahutArimoto(cf.Integers(0, 3), 1.0, prior=(4, 3, 0.5, 1)),
        cf.BlahutArimoto(cf.Integers(0, 3), 1.0, reported=(0, 3, 2**53 - 1, 1)),
    ],
    "wrapped-geometric": [
        *(cf.WrappedGeometric(one, 0.5) for one in (HOURS, WEEKDAYS, CIRCLE, RING)),
        *(cf.WrappedGeometric(HOURS, epsilon) for epsilon in (1e-9, 100.0)),
        *(cf.WrappedGeometric(RING, epsilon) for epsilon in (1e-3, 30.0)),
    ],
    "truncated-taxicab": [
        *(cf.TruncatedTaxicab(one, 0.7) for one in (GRID, HOLED, TALL, PLACES, SHORE)),
        cf.TruncatedTaxicab(HOLED, 0.7, SHIFTED),
        *(cf.TruncatedTaxicab(GRID, epsilon) for epsilon in (1e-6, 100.0)),
        cf.TruncatedTaxicab(cf.Grid(2, 257), 0.7),
        cf.TruncatedTaxicab(cf.Grid(2, 150), 0.7, cf.Grid(2, 150, first_column=107)),
    ],
    "taxicab": [
        *(cf.Taxicab(one, 0.7) for one in (GRID, HOLED, LATTICE, PLACES)),
        *(cf.Taxicab(GRID, epsilon) for epsilon in (1e-6, 100.0)),
    ],
    "truncated-planar-geometric": [
        *(cf.TruncatedPlanarGeometric(one, 0.7) for one in (GRID, HOLED, WIDE, SHORE)),
        cf.TruncatedPlanarGeometric(HOLED, 0.7, SHIFTED),
        *(cf.TruncatedPlanarGeometric(GRID, epsilon) for epsilon in (1e-3, 100.0)),
    ],
    "planar-geometric": [
        *(cf.PlanarGeometric(one, 0.7) for one in (GRID, HOLED, LATTICE, PLACES)),
        *(cf.PlanarGeometric(GRID, epsilon) for epsilon in (1e-3, 4.0, 100.0)),
    ],
    "truncated-planar-laplace": [
        *(cf.TruncatedPlanarLaplace(one, 0.7) for one in (GRID, HOLED, WIDE, SHORE)),
        cf.TruncatedPlanarLaplace(HOLED, 0.7, SHIFTED),
        *(cf.TruncatedPlanarLaplace(GRID, epsilon) for epsilon in (1e-3, 100.0)),
    ],
    "planar-laplace": [
        *(cf.PlanarLaplace(one, 0.7) for one in (GRID, LATTICE, PLACES, COORDINATES)),
        *(cf.PlanarLaplace(GRID, epsilon) for epsilon in (1e-2, 50.0)),
        cf.PlanarLaplace(COORDINATES, 20.0),
    ],
    "matrix": [
        cf.FromMatrix(cf.Categories(["a", "b", "c"]), MATRIX),
        cf.FromMatrix(cf.Integers(1, 2), WITH_ZEROS),
        cf.FromMatrix(cf.Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], cf.Categories(["low", "middle", "high"])),
        cf.FromMatrix(cf.Integers(1, 2), [[1.0], [1.0]]),
    ],
    "product": [
        cf.Product(age=TGeo(AGES, 0.2), sex=RR(TWO, 1.0), home=cf.TruncatedPlanarLaplace(HOLED, 1.0)),
        cf.Product(hour=cf.WrappedGeometric(HOURS, 0.5), cell=cf.TruncatedTaxicab(GRID, 1.0), often=TLap(SCALE, 1.0)),
        cf.Product(names=RR(WORDS, 1.0), alphabets=Exponential(UNEVEN, 0.1)),
    ],
    "two-rounds": [
        cf.TwoRounds(RR(WORDS, 2.0), RR(WORDS, 1.0)),
        cf.TwoRounds(Rappor(WORDS, 2.0), cf.Unary(WORDS, keep=0.75, flip=0.5)),
        cf.TwoRounds(cf.Unary(MANY, keep=0.75, flip=0.25), Rappor(MANY, 1.0)),
        cf.TwoRounds(TGeo(AGES, 0.05, cf.Integers(10, 80, unit="year")), TGeo(cf.Integers(10, 80, unit="year"), 0.02)),
        cf.TwoRounds(cf.TruncatedPlanarLaplace(HOLED, 0.7), Exponential(HOLED, 0.7)),
        cf.TwoRounds(
            cf.FromMatrix(cf.Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), TLap(cf.Integers(0, 2), 1.0)
        ),
        cf.TwoRounds(
            cf.Product(age=TGeo(AGES, 0.2), sex=RR(TWO, 1.0)), cf.Product(age=TGeo(AGES, 0.1), sex=RR(TWO, 0.5))
        ),
        cf.TwoRounds(cf.OneBitMean(AGES, 2.0), RR(cf.Integers(0, 1), 1.0)),
    ],
    "remapped": [
        cf.Remapped(RR(cf.Categories(["a", "b", "c"]), 1.0), cf.Categories(["x", "y"]), (0, 1, 1)),
        cf.Remapped(cf.TruncatedPlanarGeometric(GRID, 0.5), SHIFTED),
        cf.Remapped(TGeo(cf.Integers(0, 9), 0.5), cf.Integers(3, 12)),
        cf.Remapped(
            cf.Remapped(cf.TruncatedTaxicab(GRID, 1.0), cf.Grid(2, 2, spacing=0.5, unit="km")), TWO, (0, 0, 1, 1)
        ),
        cf.Remapped(RR(NUMBERS, 1.0), cf.Integers(10, 12), (2, 0, 1)),
        cf.Remapped(RR(TIMES, 1.0), cf.Scale(["rarely", "sometimes", "often"], positions=[0, 2, 9])),
        cf.Remapped(TGeo(UNEVEN, 0.05), cf.Integers(2, 9)),
    ],
}
"""Mechanisms by their kind."""
