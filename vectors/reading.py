"""Documents and their mechanisms, read a second time from docs/device.md: a value and a tape become a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from vectors.drawing import (
    Tape,
    below,
    choose,
    digits_of,
    exactly,
    integers_of,
    laplace_steps,
    over_root_two,
    planar,
    ratio_above,
    table_noise,
    toss,
    two_sided,
    whole_weights,
)

TABLE = 256
"""Values up to which a row of weights is drawn from."""

Json = dict[str, Any]
Value = Any


@dataclass(frozen=True)
class Task:
    """A mechanism of a document: its settings, its alphabet, and all tables with its place among them."""

    mechanism: Json
    alphabet: Json
    tables: Json
    place: str = "mechanism"

    def inner(self, name: str, alphabet: Json | None = None) -> Task:
        return replace(
            self,
            mechanism=self.mechanism[name],
            alphabet=alphabet or self.alphabet,
            place=f"{self.place}.{name}",
        )

    @property
    def epsilon(self) -> Fraction:
        return Fraction(self.mechanism["epsilon"])

    @property
    def table(self) -> Json:
        found: Json = self.tables.get(self.place, {})
        return found

    @property
    def outputs(self) -> Json:
        found: Json = self.mechanism.get("outputs", self.alphabet)
        return found


def report_of(document: Json, value: Value, tape: Tape) -> Value:
    """Return the report of a value, as a device sends it."""
    task = Task(document["mechanism"], document["alphabet"], document.get("tables", {}))
    return exactly(lambda: KINDS[task.mechanism["kind"]](task, value, tape))


# Alphabets: their size, and the numbers of their values.


@dataclass(frozen=True)
class Line:
    """Values on a line: the lowest, how many, how far apart, or where each lies."""

    low: int
    size: int
    spacing: Fraction = Fraction(1)
    positions: tuple[Fraction, ...] = ()


def line_of(alphabet: Json) -> Line | None:
    """Return values that lie on a line; None for all others."""
    kind = alphabet["kind"]
    if kind == "integers" and "low" in alphabet:
        return Line(alphabet["low"], alphabet["high"] - alphabet["low"] + 1, Fraction(alphabet.get("spacing", 1)))
    if kind == "scale":
        positions = tuple(map(_decimal, alphabet.get("positions", ())))
        return Line(0, len(alphabet["values"]), Fraction(alphabet.get("spacing", 1)), positions)
    if kind == "dates":
        return Line(0, _steps(alphabet["last"], alphabet) - _steps(alphabet["first"], alphabet) + 1)
    if kind != "bins":
        return None
    middles = _middles(alphabet)
    gaps = {other - one for one, other in pairwise(middles)}
    if len(gaps) > 1:
        return Line(0, len(middles), Fraction(1), middles)
    return Line(0, len(middles), Fraction(float(gaps.pop())))


def _decimal(number: float) -> Fraction:
    return Fraction(repr(number))


def _middles(alphabet: Json) -> tuple[Fraction, ...]:
    if "edges" in alphabet:
        edges = list(map(_decimal, alphabet["edges"]))
    else:
        low, high, width = (_decimal(alphabet[name]) for name in ("low", "high", "width"))
        edges = [low + width * place for place in range(int((high - low) / width) + 1)]
    if alphabet.get("below"):
        edges.insert(0, 2 * edges[0] - edges[1])
    if alphabet.get("above"):
        edges.append(2 * edges[-1] - edges[-2])
    return tuple((one + other) / 2 for one, other in pairwise(edges))


def _steps(text: str, alphabet: Json) -> int:
    every = alphabet.get("every", "day")
    if every == "day":
        return date.fromisoformat(text).toordinal()
    if every == "week":
        year, week = text.split("-W")
        return date.fromisocalendar(int(year), int(week), 1).toordinal() // 7
    if every == "quarter":
        year, quarter = text.split("-Q")
        return 4 * int(year) + int(quarter)
    year, _, month = text.partition("-")
    return int(year) if every == "year" else 12 * int(year) + int(month)


def steps_of_circle(alphabet: Json) -> int | None:
    known = {"hours": 24, "weekdays": 7, "circle": alphabet.get("steps")}
    return known.get(alphabet["kind"])


@dataclass(frozen=True)
class Cells:
    """Cells of a plane, numbered row by row without the holes."""

    row: int
    column: int
    rows: int
    columns: int
    holes: frozenset[tuple[int, int]]
    spacing: Fraction

    def listed(self) -> list[tuple[int, int]]:
        rows, columns = range(self.row, self.row + self.rows), range(self.column, self.column + self.columns)
        return [(row, column) for row in rows for column in columns if (row, column) not in self.holes]

    def hull(self, other: Cells) -> Cells:
        row, column = min(self.row, other.row), min(self.column, other.column)
        rows = max(self.row + self.rows, other.row + other.rows) - row
        columns = max(self.column + self.columns, other.column + other.columns) - column
        return Cells(row, column, rows, columns, frozenset(), self.spacing)


def cells_of(alphabet: Json) -> Cells:
    holes = frozenset((row, column) for row, column in alphabet.get("holes", ()))
    first = alphabet.get("first_row", 0), alphabet.get("first_column", 0)
    return Cells(*first, alphabet["rows"], alphabet["columns"], holes, Fraction(alphabet.get("spacing", 1)))


def values_of(alphabet: Json) -> Sequence[Value]:
    """Return all values in their order; cells and combinations as lists."""
    kind = alphabet["kind"]
    if kind == "categories":
        return list(alphabet["values"])
    if kind in ("grid", "places"):
        return [list(cell) for cell in cells_of(alphabet).listed()]
    if kind == "attributes":
        combined: list[list[Value]] = [[]]
        for part in alphabet["alphabets"]:
            combined = [[*one, *_parts(other)] for one in combined for other in values_of(part)]
        return combined
    line, steps = line_of(alphabet), steps_of_circle(alphabet)
    return range(line.low, line.low + line.size) if line is not None else range(steps or 0)


def _parts(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [value]


def width_of(alphabet: Json) -> int:
    return 2 if alphabet["kind"] in ("grid", "places", "lattice", "coordinates") else 1


# Mechanisms.


def randomized_response(task: Task, value: Value, tape: Tape) -> Value:
    values = values_of(task.alphabet)
    own, ratio = values.index(value), ratio_above(task.epsilon)
    weights = [ratio.denominator, (len(values) - 1) * ratio.numerator]
    is_replaced, other = choose(weights, tape), below(len(values) - 1, tape)
    return values[other + (other >= own)] if is_replaced else value


def square_wave(task: Task, value: Value, tape: Tape) -> Value:
    values, width = values_of(task.alphabet), task.mechanism["width"]
    own, ratio, reach = values.index(value), ratio_above(task.epsilon), 2 * width + 1
    if task.alphabet["kind"] in ("circle", "hours", "weekdays"):
        reports, first = values, own - width
    else:
        reports, first = list(range(values[0] - width, values[-1] + width + 1)), own
    weights = [reach * ratio.denominator, (len(reports) - reach) * ratio.numerator]
    is_far, inside, outside = choose(weights, tape), below(reach, tape), below(len(reports) - reach, tape)
    return reports[(first + (reach + outside if is_far else inside)) % len(reports)]


def hadamard_response(task: Task, value: Value, tape: Tape) -> Value:
    values, blocks = values_of(task.alphabet), task.mechanism["blocks"]
    width = next(2**bits for bits in range(1, 60) if blocks * (2**bits - 1) >= len(values))
    block, row = divmod(values.index(value), width - 1)
    row += 1

    def column(number: int, odd: int) -> int:
        """Insert a bit where the lowest one of the row stands, of the two the one with the parity."""
        place = (row & -row).bit_length() - 1
        digits = f"{number:060b}"
        both = [int(f"{digits[: 60 - place]}{bit}{digits[60 - place :]}", 2) for bit in "01"]
        return next(one for one in both if (one & row).bit_count() % 2 == odd)

    ratio, half = ratio_above(task.epsilon), width // 2
    others = blocks * width - half
    weights = [half * ratio.denominator, others * ratio.numerator]
    is_far, near, other = choose(weights, tape), below(half, tape), below(others, tape)
    if not is_far:
        return block * width + column(near, 0)
    if other < half:
        return block * width + column(other, 1)
    return ((block + 1) * width + other - half) % (blocks * width)


def projective_geometry(task: Task, value: Value, tape: Tape) -> Value:
    order, recurrence = task.mechanism["order"], task.mechanism["recurrence"]
    count = sum(order**power for power in range(len(recurrence)))
    places = _zeros(order, tuple(recurrence), count)
    ratio, own = ratio_above(task.epsilon), values_of(task.alphabet).index(value)
    weights = [len(places) * ratio.denominator, (count - len(places)) * ratio.numerator]
    is_far, near, other = choose(weights, tape), below(len(places), tape), below(count - len(places), tape)
    if is_far:
        held = set(places)
        return (own + [place for place in range(count) if place not in held][other]) % count
    return (own + places[near]) % count


@cache
def _zeros(order: int, recurrence: tuple[int, ...], count: int) -> list[int]:
    """Return where the sequence is zero."""
    sequence = [0] * (len(recurrence) - 1) + [1]
    while len(sequence) < count:
        recent = sequence[-len(recurrence) :]
        sequence.append(sum(one * other for one, other in zip(recurrence, recent, strict=True)) % order)
    return [place for place in range(count) if sequence[place] == 0]


def planar_square_wave(task: Task, value: Value, tape: Tape) -> Value:
    box, radius, ratio = cells_of(task.alphabet), task.mechanism["radius"], ratio_above(task.epsilon)
    reach = math.floor(radius)
    around = range(-reach, reach + 1)
    disc = [(down, along) for down in around for along in around if down**2 + along**2 <= float(radius) * radius]
    rows, columns = box.rows + 2 * reach, box.columns + 2 * reach
    weights = [len(disc) * (ratio.denominator - ratio.numerator), rows * columns * ratio.numerator]
    is_any, inside, anywhere = choose(weights, tape), below(len(disc), tape), below(rows * columns, tape)
    if is_any:
        return [box.row - reach + anywhere // columns, box.column - reach + anywhere % columns]
    return [value[0] + disc[inside][0], value[1] + disc[inside][1]]


def one_bit_mean(task: Task, value: int, tape: Tape) -> int:
    line, ratio = line_of(task.alphabet), ratio_above(task.epsilon)
    assert line is not None
    places = lattice_of(line.positions)[1] if line.positions else range(line.size)
    is_turned = choose([ratio.denominator, ratio.numerator], tape)
    return int(below(places[-1], tape) < places[value - line.low]) ^ is_turned


def subset_selection(task: Task, value: Value, tape: Tape) -> str:
    values, members = values_of(task.alphabet), task.mechanism["members"]
    own, ratio, others = values.index(value), ratio_above(task.epsilon), len(values) - 1
    is_without = choose([members * ratio.denominator, (len(values) - members) * ratio.numerator], tape)
    chosen: set[int] = set()
    for last in range(others - members, others):
        drawn = below(last + 1, tape)
        chosen.add(last if drawn in chosen else drawn)
    named = [one + (one >= own) for one in sorted(chosen)]
    place = below(members, tape)
    if not is_without:
        named[place] = own
    return "".join(str(int(number in named)) for number in range(len(values)))


PRIME = 67_108_859


def local_hashing(task: Task, value: Value, tape: Tape) -> Value:
    own, ratio, buckets = values_of(task.alphabet).index(value), ratio_above(task.epsilon), task.mechanism["buckets"]
    hashes = PRIME * (PRIME - 1)
    is_other = choose([ratio.denominator, (buckets - 1) * ratio.numerator], tape)
    seed, step = below(task.mechanism.get("seeds", hashes), tape), 1 + below(buckets - 1, tape)
    number = splitmix(seed) % hashes if "seeds" in task.mechanism else seed
    bucket = ((number // PRIME + 1) * own + number % PRIME) % PRIME % buckets
    return [seed, (bucket + step) % buckets if is_other else bucket]


def splitmix(place: int) -> int:
    """Return the number at a place of SplitMix64 from state 0."""
    whole = 2**64
    number = (place + 1) * 0x9E3779B97F4A7C15 % whole
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % whole
    number = (number ^ number >> 27) * 0x94D049BB133111EB % whole
    return number ^ number >> 31


def unary(task: Task, value: Value, tape: Tape) -> str:
    return blur_bits(task, [one == value for one in values_of(task.alphabet)], tape)


def blur_bits(task: Task, are_set: Sequence[bool], tape: Tape) -> str:
    """Blur bits: one where a value is blurred, any number in a second round."""
    if task.mechanism["kind"] == "rappor":
        ratio = ratio_above(task.epsilon / 2)
        keep, flip = 1 / (1 + ratio), ratio / (1 + ratio)
    elif task.mechanism["kind"] == "optimized-unary":
        ratio = ratio_above(task.epsilon)
        keep, flip = Fraction(1, 2), ratio / (1 + ratio)
    else:
        keep, flip = (Fraction(task.mechanism[name]) for name in ("keep", "flip"))
    bits = toss_rarer(flip, len(are_set), tape)
    chosen = [place for place, is_set in enumerate(are_set) if is_set]
    own = [not bits[place] for place in chosen] if keep == 1 - flip else toss_rarer(keep, len(chosen), tape)
    for place, bit in zip(chosen, own, strict=True):
        bits[place] = bit
    return "".join(str(int(bit)) for bit in bits)


def toss_rarer(p: Fraction, number: int, tape: Tape) -> list[bool]:
    """Toss coins by their rarer side."""
    if p <= Fraction(1, 2):
        return toss([digits_of(p)] * number, tape)
    return [not head for head in toss([digits_of(1 - p)] * number, tape)]


def two_rounds(task: Task, value: Value, tape: Tape) -> Value:
    permanent = task.inner("permanent")
    report = KINDS[permanent.mechanism["kind"]](permanent, value, tape)
    if permanent.mechanism["kind"] in ("rappor", "unary"):
        return blur_bits(task.inner("fresh"), [bit == "1" for bit in report], tape.fresh)
    fresh = task.inner("fresh", alphabet_of_reports(permanent))
    return KINDS[fresh.mechanism["kind"]](fresh, report, tape.fresh)


def alphabet_of_reports(task: Task) -> Json:
    """Return the alphabet that a finite mechanism reports in."""
    kind = task.mechanism["kind"]
    if kind == "product":
        named = zip(task.alphabet["names"], task.alphabet["alphabets"], strict=True)
        parts = [alphabet_of_reports(task.inner(name, alphabet)) for name, alphabet in named]
        return {"kind": "attributes", "names": task.alphabet["names"], "alphabets": parts}
    if kind == "one-bit-mean":
        return {"kind": "integers", "low": 0, "high": 1}
    if kind == "matrix" and "outputs" not in task.mechanism:
        rows, columns = len(task.mechanism["matrix"]), len(task.mechanism["matrix"][0])
        return task.alphabet if rows == columns else {"kind": "integers", "low": 0, "high": columns - 1}
    return task.outputs


@dataclass(frozen=True)
class Box:
    """Where noise on a line is clamped: its rate a step, how many cells, that of the value, and what each leads to."""

    rate: Fraction
    size: int
    own: int
    leads_to: Callable[[int], int]


def box_of(task: Task, value: int) -> Box:
    line, outputs = line_of(task.alphabet), line_of(task.outputs)
    assert line is not None
    assert outputs is not None
    if line.positions:
        step, places = lattice_of(line.positions)
        return Box(task.epsilon * step, places[-1] + 1, places[value], lambda cell: nearest(places, cell))
    low, high = min(line.low, outputs.low), max(line.low + line.size, outputs.low + outputs.size)
    ends = outputs.low, outputs.low + outputs.size - 1
    return Box(task.epsilon * line.spacing, high - low, value - low, lambda cell: clamp(cell + low, *ends))


def lattice_of(positions: Sequence[Fraction]) -> tuple[Fraction, list[int]]:
    gaps = [place - positions[0] for place in positions[1:]]
    common = math.lcm(*(gap.denominator for gap in gaps))
    step = Fraction(math.gcd(*(int(gap * common) for gap in gaps)), common)
    return step, [0, *(int(gap / step) for gap in gaps)]


def nearest(places: Sequence[int], cell: int) -> int:
    return min(range(len(places)), key=lambda number: (abs(places[number] - cell), number))


def clamp(number: int, low: int, high: int) -> int:
    return min(max(number, low), high)


def on_line(
    weight: Callable[[Fraction, int, int], list[Fraction]], noise: Callable[[Fraction, Tape], int]
) -> Callable[[Task, Value, Tape], Value]:
    """Return the truncated mechanism of some noise on a line."""

    def draw(task: Task, value: Value, tape: Tape) -> Value:
        box = box_of(task, value)
        if box.size > TABLE:
            return box.leads_to(clamp(box.own + noise(box.rate, tape), 0, box.size - 1))
        outputs = values_of(task.outputs)
        merged = dict.fromkeys(outputs, Fraction(0))
        for cell, one in enumerate(weight(box.rate, box.own, box.size)):
            merged[box.leads_to(cell)] += one
        return outputs[choose(whole_weights(list(merged.values())), tape)]

    return draw


def geometric_weights(rate: Fraction, own: int, size: int) -> list[Fraction]:
    r = ratio_above(rate)
    return clamped(r, own, size)


def clamped(r: Fraction, own: int, size: int) -> list[Fraction]:
    return [r ** abs(z - own) * (1 if z in (0, size - 1) else 1 - r) for z in range(size)]


def laplace_weights(rate: Fraction, own: int, size: int) -> list[Fraction]:
    b = ratio_above(rate / 2)
    beyond = [Fraction(1), *(b ** (2 * steps - 1) / 2 for steps in range(1, size + 1))]  # P(noise >= steps)
    row = [beyond[abs(z - own)] - beyond[abs(z - own) + 1] for z in range(size)]
    row[own] = 1 - b
    row[0] = beyond[own] if own else 1 - b / 2
    row[-1] = beyond[size - 1 - own] if own < size - 1 else 1 - b / 2
    return row


def geometric(task: Task, value: int, tape: Tape) -> int:
    return clamp(value + two_sided(ratio_above(_rate(task)), tape), 1 - 2**53, 2**53 - 1)


def laplace(task: Task, value: int, tape: Tape) -> float:
    return float(value + Fraction(two_sided(ratio_above(_rate(task) / 2**16), tape), 2**16))


def _rate(task: Task) -> Fraction:
    line = line_of(task.alphabet)
    return task.epsilon * (line.spacing if line else Fraction(task.alphabet.get("spacing", 1)))


def exponential(task: Task, value: Value, tape: Tape) -> Value:
    values, line = values_of(task.alphabet), line_of(task.alphabet)
    if "rows" in task.table or len(values) <= TABLE:
        return values[choose(exponential_weights(task, value), tape)]
    if "quadrant" in task.table:
        return _exponential_on_cells(task, value, tape)
    if line is None:
        return values[choose(exponential_weights(task, value), tape)]
    r = ratio_above(task.epsilon * line.spacing / 2)
    while (report := value + two_sided(r, tape)) not in values:
        tape.note("outside", at=report)
    return report


def blahut_arimoto(task: Task, value: Value, tape: Tape) -> Value:
    both = zip(exponential_weights(task, value), task.mechanism["reported"], strict=True)
    return values_of(task.alphabet)[choose([weight * preferred for weight, preferred in both], tape)]


def exponential_weights(task: Task, value: Value) -> list[int]:
    values = values_of(task.alphabet)
    if "rows" in task.table:
        return integers_of(task.table["rows"][values.index(value)])
    if "quadrant" in task.table:
        moves = [(abs(row - value[0]), abs(column - value[1])) for row, column in values]
        return integers_of([task.table["quadrant"][down][along] for down, along in moves])
    line, steps = line_of(task.alphabet), steps_of_circle(task.alphabet)
    r = ratio_above(task.epsilon * (line.spacing if line else 1) / 2)
    own, size = values.index(value), len(values)
    around = [abs(z - own) for z in range(size)]
    distances = around if line else [min(one, steps - one) for one in around] if steps else map(bool, around)
    return whole_weights([r**distance for distance in distances])


def _exponential_on_cells(task: Task, value: Value, tape: Tape) -> Value:
    cells, quadrant = values_of(task.alphabet), task.table["quadrant"]
    present = set(map(tuple, cells))
    while True:
        down, along = table_noise(quadrant, tape)
        report = [value[0] + down, value[1] + along]
        if tuple(report) in present:
            return report
        tape.note("outside", at=report)


def wrapped_geometric(task: Task, value: int, tape: Tape) -> int:
    size, r = steps_of_circle(task.alphabet) or 0, ratio_above(task.epsilon)
    if size > TABLE:
        return (value + two_sided(r, tape)) % size
    return choose(
        whole_weights([r ** ((z - value) % size) + r ** ((value - z) % size or size) for z in range(size)]), tape
    )


def taxicab(task: Task, value: Value, tape: Tape) -> Value:
    r = ratio_above(over_root_two(_rate(task)))
    return [value[0] + two_sided(r, tape), value[1] + two_sided(r, tape)]


def truncated_taxicab(task: Task, value: Value, tape: Tape) -> Value:
    box, r = cells_of(task.alphabet).hull(cells_of(task.outputs)), ratio_above(over_root_two(_rate(task)))
    row, column = value[0] - box.row, value[1] - box.column
    if max(box.rows, box.columns) > TABLE:
        down, along = two_sided(r, tape), two_sided(r, tape)
        return _reported(task, box, row + down, column + along)
    rows = whole_weights(clamped(r, row, box.rows))
    columns = whole_weights(clamped(r, column, box.columns))
    return _reported(task, box, choose(rows, tape), choose(columns, tape))


def truncated_planar(task: Task, value: Value, tape: Tape) -> Value:
    box = cells_of(task.alphabet).hull(cells_of(task.outputs))
    down, along = table_noise(task.table["quadrant"], tape)
    return _reported(task, box, value[0] - box.row + down, value[1] - box.column + along)


def _reported(task: Task, box: Cells, row: int, column: int) -> Value:
    """Return the output for a place in the box, after it is clamped."""
    row, column = clamp(row, 0, box.rows - 1), clamp(column, 0, box.columns - 1)
    if "nearest" not in task.table:
        return [row + box.row, column + box.column]
    return list(cells_of(task.outputs).listed()[task.table["nearest"][row * box.columns + column]])


def planar_geometric(task: Task, value: Value, tape: Tape) -> Value:
    down, along = planar(_rate(task), tape)
    return [value[0] + down, value[1] + along]


def planar_laplace(task: Task, value: Value, tape: Tape) -> Value:
    if task.alphabet["kind"] == "coordinates":
        down, along = planar(_rate(task), tape)
        return [
            (value[0] + down) / task.alphabet["latitude_steps"],
            (value[1] + along) / task.alphabet["longitude_steps"],
        ]
    down, along = planar(_rate(task) / 2**12, tape)
    return [value[0] + down / 2**12, value[1] + along / 2**12]


def matrix(task: Task, value: Value, tape: Tape) -> Value:
    row = task.mechanism["matrix"][values_of(task.alphabet).index(value)]
    return values_of(alphabet_of_reports(task))[choose(integers_of(row), tape)]


def product(task: Task, value: Value, tape: Tape) -> Value:
    reported: list[Value] = []
    rest = list(value)
    for name, alphabet in zip(task.alphabet["names"], task.alphabet["alphabets"], strict=True):
        part = task.inner(name, alphabet)
        own, rest = rest[: width_of(alphabet)], rest[width_of(alphabet) :]
        drawn = KINDS[part.mechanism["kind"]](part, own if len(own) > 1 else own[0], tape)
        reported += _parts(drawn)
    return reported


def remapped(task: Task, value: Value, tape: Tape) -> Value:
    inner = task.inner("mechanism")
    report = KINDS[inner.mechanism["kind"]](inner, value, tape)
    outputs = values_of(task.outputs)
    mapping = task.mechanism.get("mapping", task.table.get("nearest"))
    if mapping is None:
        return clamp(report, outputs[0], outputs[-1])
    return outputs[mapping[values_of(alphabet_of_reports(inner)).index(report)]]


KINDS: dict[str, Callable[[Task, Value, Tape], Value]] = {
    "randomized-response": randomized_response,
    "rappor": unary,
    "optimized-unary": unary,
    "subset-selection": subset_selection,
    "local-hashing": local_hashing,
    "unary": unary,
    "square-wave": square_wave,
    "hadamard-response": hadamard_response,
    "projective-geometry": projective_geometry,
    "planar-square-wave": planar_square_wave,
    "one-bit-mean": one_bit_mean,
    "truncated-geometric": on_line(geometric_weights, lambda rate, tape: two_sided(ratio_above(rate), tape)),
    "geometric": geometric,
    "truncated-laplace": on_line(laplace_weights, lambda rate, tape: laplace_steps(ratio_above(rate / 2), tape)),
    "laplace": laplace,
    "exponential": exponential,
    "blahut-arimoto": blahut_arimoto,
    "wrapped-geometric": wrapped_geometric,
    "truncated-taxicab": truncated_taxicab,
    "taxicab": taxicab,
    "truncated-planar-geometric": truncated_planar,
    "planar-geometric": planar_geometric,
    "truncated-planar-laplace": truncated_planar,
    "planar-laplace": planar_laplace,
    "matrix": matrix,
    "product": product,
    "remapped": remapped,
    "two-rounds": two_rounds,
}
