"""GeoJSON (RFC 7946), read strictly: areas and lines.

Edges are straight in longitude and latitude, as the standard has it. A ring that is not closed, crosses itself or runs
across the date line is refused, with what to do about it; so are positions that are none, and files in other
coordinates.

>>> park = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]]}
>>> [area.box for area in read_areas(park)]
[(0.0, 0.0, 1.0, 2.0)]
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import DataFileError, InvalidInputError, InvalidParameterError
from confide.values.checks import kind_of, read_only
from confide.values.wording import counted

FloatArray = NDArray[np.float64]
Numbers = NDArray[np.int64]
Chosen = NDArray[np.bool_]

BLOCK = 2**21
"""Pairs of an edge and a point, or of two edges, that are compared at once: some tens of megabytes."""


@dataclass(frozen=True, eq=False)
class Area:
    """Polygons on the Earth, each an outer ring and its holes.

    Attributes
    ----------
    polygons
        One tuple of rings a polygon, the outer ring first; each has one row a position, the last like the first. Rings
        may run either way round.
    name
        What it is called; empty where it has no name.
    """

    polygons: tuple[tuple[FloatArray, ...], ...]
    name: str = ""

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """South, west, north and east of all of it."""
        outer = np.concatenate([rings[0] for rings in self.polygons])
        (west, south), (east, north) = outer.min(axis=0).tolist(), outer.max(axis=0).tolist()
        return south, west, north, east

    @cached_property
    def edges(self) -> FloatArray:
        """All edges: from longitude and latitude, to longitude and latitude."""
        return _edges([ring for rings in self.polygons for ring in rings])

    def contains(self, points: ArrayLike) -> Chosen:
        """Return whether each point lies inside one of the polygons.

        A point on a border belongs to one of the two areas that share it, never to both or neither.
        """
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        latitude, longitude = places[:, 0], places[:, 1]
        is_round = np.abs(longitude) > 180  # a grid may go on past the date line; the others keep their last digits
        longitude = np.where(is_round, (longitude + 180) % 360 - 180, longitude)
        longitude = np.where(longitude == 180, -180.0, longitude)  # one meridian, which is a western border
        inside, order = np.zeros(latitude.size, dtype=bool), np.argsort(latitude, kind="stable")
        ranked = latitude[order]
        for edges in map(_edges, self.polygons):  # each by itself: two that overlap hold what both hold
            first = np.searchsorted(ranked, edges[:, 1].min())
            some = order[first : np.searchsorted(ranked, edges[:, 1].max(), side="right")]
            inside[some] |= _hold(edges, longitude[some], latitude[some])
        return inside

    def cuts(self, boxes: ArrayLike) -> Chosen:
        """Return whether a border runs through each box, given by its corners.

        Boxes are taken as those around their corners in longitude and latitude.
        """
        corners = np.asarray(boxes, dtype=np.float64)
        low, high = corners.min(axis=1)[:, ::-1], corners.max(axis=1)[:, ::-1]
        found = np.zeros(len(corners), dtype=bool)
        order = np.argsort(low[:, 1], kind="stable")
        souths, tallest = low[order, 1], float((high - low)[:, 1].max(initial=0.0))
        lowest, highest = (of(self.edges[:, 1], self.edges[:, 3]) for of in (np.minimum, np.maximum))
        first = np.searchsorted(souths, lowest - tallest, side="left").tolist()
        last = np.searchsorted(souths, highest, side="right").tolist()
        for edge, begin, stop in zip(self.edges, first, last, strict=True):
            west, east = min(edge[0], edge[2]), max(edge[0], edge[2])
            some = order[begin:stop]
            some = some[(low[some, 0] < east) & (high[some, 0] > west)]
            some = some[(low[some, 1] < max(edge[1], edge[3])) & (high[some, 1] > min(edge[1], edge[3]))]
            # An edge, whose own box they meet, runs through the inside of boxes if corners lie on both sides of it.
            start, (along, up), (least, most) = edge[:2], edge[2:] - edge[:2], (low[some], high[some])
            corners_of = ((least, least), (least, most), (most, least), (most, most))
            sides = [along * (y[:, 1] - start[1]) - up * (x[:, 0] - start[0]) for x, y in corners_of]
            found[some] |= (np.max(sides, axis=0) > 0) & (np.min(sides, axis=0) < 0)
        return found


def check_polygon(rings: Sequence[FloatArray]) -> None:
    """Refuse rings that cross or overlap, and misplaced holes.

    Rings may touch each other at points.
    """
    edges = _edges(rings)
    lengths = np.array([len(ring) - 1 for ring in rings])
    ring_of = np.repeat(np.arange(len(rings)), lengths)
    place = np.concatenate([np.arange(length) for length in lengths])
    touched: dict[int, list[FloatArray]] = {}

    def check(left: Numbers, right: Numbers) -> None:
        meets, is_crossed = _meet(edges[left], edges[right])
        is_same = ring_of[left] == ring_of[right]
        apart = np.abs(place[left] - place[right])
        is_next = (apart == 1) | (apart == lengths[ring_of[left]] - 1)
        bad = is_crossed | (meets & is_same & ~is_next)
        if bad.any():
            pair = int(np.argmax(bad))
            one, other = (f"{at(edges[each[pair], :2])} to {at(edges[each[pair], 2:])}" for each in (left, right))
            raise InvalidInputError(
                f"its borders cross or touch themselves: {one}, and {other}. Such an area has no inside; mend it where "
                f"it was drawn"
            )
        for first, second in np.column_stack([left, right])[meets & ~is_same].tolist():
            touched.setdefault(first, []).extend([edges[second, :2], edges[second, 2:]])
            touched.setdefault(second, []).extend([edges[first, :2], edges[first, 2:]])

    _compare(edges, check)
    # Refuse holes outside their ring and holes within holes; that borders do not cross is known.
    own, marks = _marks(edges, np.flatnonzero(ring_of > 0), touched)
    outside = ~_hold(_edges(rings[:1]), marks[:, 0], marks[:, 1])
    if outside.any():
        raise InvalidInputError(f"a hole at {at(marks[int(np.argmax(outside))])} lies outside its ring. Leave it out")
    for number, hole in enumerate(rings[1:], 1):
        within = _hold(_edges([hole]), marks[:, 0], marks[:, 1]) & (ring_of[own] != number)
        if within.any():
            raise InvalidInputError(f"two holes overlap at {at(marks[int(np.argmax(within))])}. Join them")


def at(position: FloatArray) -> str:
    """Return a position as GeoJSON has it, longitude first.

    >>> at(np.array([-73.98, 40.75]))
    '[-73.98, 40.75]'
    """
    return f"[{position[0]:.10g}, {position[1]:.10g}]"


def _edges(rings: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])


def _marks(edges: FloatArray, own: Numbers, touched: dict[int, list[FloatArray]]) -> tuple[Numbers, FloatArray]:
    """Return a point of every piece of edges between touching points.

    The whole piece lies on the same side of other rings as its point.
    """
    marks = list((edges[own, :2] + edges[own, 2:]) / 2)
    numbers = own.tolist()
    for place, number in enumerate(own.tolist()):
        if number not in touched:
            continue
        start, end, near = edges[number, :2], edges[number, 2:], np.array(touched[number])
        is_on = (_turn(start, end, near) == 0) & _is_between(near, start, end)
        along = np.array([start, end, *near[is_on]])
        along = along[np.argsort(np.abs(along - start).sum(axis=1), kind="stable")]
        pieces = list(((along[:-1] + along[1:]) / 2)[(along[:-1] != along[1:]).any(axis=1)])
        marks[place] = pieces[0]
        marks, numbers = marks + pieces[1:], numbers + [number] * (len(pieces) - 1)
    return np.array(numbers, dtype=np.int64), np.array(marks).reshape(-1, 2)


def _compare(edges: FloatArray, check: Callable[[Numbers, Numbers], None]) -> None:
    """Call a check with all pairs of edges whose boxes touch.

    Edges that follow each other lie together, so chunks of them have small boxes, and few of these touch.
    """
    chunk = 64  # edges that are looked at together, by the box around them
    low, high = np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])
    starts = np.arange(0, len(edges), chunk)
    low_of, high_of = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    for number, start in enumerate(starts.tolist()):
        mine = np.arange(start, min(start + chunk, len(edges)))
        is_near = (low_of[number:] <= high_of[number]).all(axis=1) & (high_of[number:] >= low_of[number]).all(axis=1)
        others = (chunk * (number + np.flatnonzero(is_near))[:, None] + np.arange(chunk)).ravel()
        others = others[others < len(edges)]
        for part in range(0, others.size, BLOCK // chunk):
            some = others[part : part + BLOCK // chunk]
            touches = mine[:, None] < some
            for axis in (0, 1):
                touches &= low[mine, axis, None] <= high[some, axis]
                touches &= high[mine, axis, None] >= low[some, axis]
            left, right = np.nonzero(touches)
            check(mine[left], some[right])


def _meet(left: FloatArray, right: FloatArray) -> tuple[Chosen, Chosen]:
    """Return whether edges meet, and whether they cross or overlap."""
    a, b, c, d = left[:, :2], left[:, 2:], right[:, :2], right[:, 2:]
    of_c, of_d, of_a, of_b = _turn(a, b, c), _turn(a, b, d), _turn(c, d, a), _turn(c, d, b)
    crosses = (of_c * of_d < 0) & (of_a * of_b < 0)
    touches = np.zeros(len(left), dtype=bool)
    for turn, one, other, point in ((of_c, a, b, c), (of_d, a, b, d), (of_a, c, d, a), (of_b, c, d, b)):
        touches |= (turn == 0) & _is_between(point, one, other)
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    overlaps = (of_c == 0) & (of_d == 0) & (low <= high).all(axis=1) & (low < high).any(axis=1)
    return crosses | touches, crosses | overlaps


def _is_between(points: FloatArray, start: FloatArray, end: FloatArray) -> Chosen:
    """Whether points lie in the box around an edge."""
    return np.asarray(((points >= np.minimum(start, end)) & (points <= np.maximum(start, end))).all(axis=-1))


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return the exact orientation of a, b, c: 1 left, -1 right.

    Where rounding leaves the sign open it is found in fractions.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    left = (a[..., 0] - c[..., 0]) * (b[..., 1] - c[..., 1])
    right = (a[..., 1] - c[..., 1]) * (b[..., 0] - c[..., 0])
    found = left - right
    signs = np.sign(found)
    # Part of its terms within which the sign of an orientation is not certain (Shewchuk 1997, "ccwerrboundA").
    is_open = np.abs(found) <= (3 + 16 * 2.0**-53) * 2.0**-53 * (np.abs(left) + np.abs(right))
    # Ends of edges that meet, or level ones, are plain: a term of exactly nothing was not rounded.
    is_open &= ~((left == 0) & (right == 0) & ((a == c).all(axis=-1) | (b == c).all(axis=-1)))
    for place in map(tuple, np.argwhere(is_open).tolist()):
        (ax, ay), (bx, by), (cx, cy) = (map(Fraction, point[place].tolist()) for point in (a, b, c))
        exact = (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
        signs[place] = (exact > 0) - (exact < 0)
    return np.asarray(signs)


def _hold(edges: FloatArray, x: FloatArray, y: FloatArray) -> Chosen:
    """Return whether eastward rays cross edges an odd number of times.

    An edge has its lower end and not its upper one, and is looked at from its lower end, whichever area it bounds: so
    neighbours agree about the points on it.
    """
    inside = np.zeros(x.size, dtype=bool)
    (west, south), (east, north) = edges[:, :2].min(axis=0), edges[:, :2].max(axis=0)
    # Most points lie outside the box of a polygon, and these cost nothing more.
    near = np.flatnonzero((x >= west) & (x <= east) & (y >= south) & (y <= north))
    near = near[np.argsort(y[near], kind="stable")]
    x, y = x[near], y[near]
    is_up = (edges[:, 1] < edges[:, 3])[:, None]
    low, high = np.where(is_up, edges[:, :2], edges[:, 2:]), np.where(is_up, edges[:, 2:], edges[:, :2])
    first = np.searchsorted(y, low[:, 1], side="left")
    spans = np.searchsorted(y, high[:, 1], side="left") - first
    ends, odd = np.cumsum(spans), np.zeros(x.size, dtype=bool)
    for start in range(0, int(ends[-1]), BLOCK):
        pairs = np.arange(start, min(start + BLOCK, int(ends[-1])))
        edge = np.searchsorted(ends, pairs, side="right")
        point = first[edge] + pairs - (ends[edge] - spans[edge])
        # Most edges lie wholly to the east or to the west of a point: these take no orientation.
        is_east = x[point] < np.minimum(low[edge, 0], high[edge, 0])
        some = np.flatnonzero(~is_east & (x[point] < np.maximum(low[edge, 0], high[edge, 0])))
        places = np.column_stack([x[point[some]], y[point[some]]])
        is_east[some] = _turn(low[edge[some]], high[edge[some]], places) > 0
        odd ^= (np.bincount(point[is_east], minlength=x.size) % 2).astype(bool)
    inside[near] = odd
    return inside


GeoJSON = str | PathLike[str] | Mapping[str, Any]
"""A file of GeoJSON, or an object of it as :func:`json.loads` returns one."""

CUT = "Across the date line, cut it there into a MultiPolygon (RFC 7946, 3.1.9)"


def read_areas(source: GeoJSON) -> list[Area]:
    """Read areas from GeoJSON, one for each feature.

    It may be a Polygon, a MultiPolygon, a Feature of one, or a FeatureCollection of these.

    An area is named by its feature's properties, or else by the file.

    Raises
    ------
    DataFileError
        If it is no GeoJSON, or contains something other than valid areas. The message says where.

    Examples
    --------
    >>> corners = [[-74.0, 40.7], [-73.9, 40.7], [-73.9, 40.8], [-74.0, 40.7]]
    >>> [area.name for area in read_areas({"type": "Polygon", "coordinates": [corners]})]
    ['area']
    """
    content, origin = _load(source)
    found = [(_polygons(geometry, where), name) for geometry, name, where in _geometries(content, origin)]
    otherwise = "area" if isinstance(source, Mapping) else Path(origin).stem
    names, areas = [one for _, one in found], []
    # Areas without a name have that of the file and their number; names that stand twice have a number behind them.
    for place, (polygons, name) in enumerate(found):
        known = name or (otherwise if len(found) == 1 else f"{otherwise} {place + 1}")
        again = names[:place].count(name) if name else 0
        areas.append(Area(polygons, f"{known} ({again + 1})" if again else known))
    return areas


def is_drawing(source: GeoJSON) -> bool:
    """Whether GeoJSON has only lines, which are drawn but not asked."""
    content, origin = _load(source)
    return all(one["type"] in ("LineString", "MultiLineString") for one, _, _ in _geometries(content, origin))


def read_lines(source: GeoJSON) -> list[FloatArray]:
    """Read lines to draw behind a map, including borders of areas.

    Nothing is asked of them but positions; points are left out.
    """
    content, origin = _load(source)
    lines = [line for geometry, _, where in _geometries(content, origin) for line in _lines(geometry, where)]
    if not lines:
        raise DataFileError(f"{origin} has no lines and no areas to draw. Give a coast, borders or streets as GeoJSON.")
    return lines


def _load(source: GeoJSON) -> tuple[Any, str]:
    """Return an object of GeoJSON, and what to call it."""
    if isinstance(source, Mapping):
        return source, "The GeoJSON"
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameterError(f"source must be a path or a dictionary; got {kind_of(source)}.")
    path = Path(source)
    try:
        size = path.stat().st_size
        if size > 2**28:  # a quarter of a gigabyte; the buildings of a large city take less
            raise DataFileError(
                f"{path} has {size:,} bytes, more than the {2**28:,} that are read. Keep the areas that are asked for, "
                f"and fewer positions of each."
            )
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is no GeoJSON: it is not in UTF-8.") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_twins), str(path)
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"{path} is no GeoJSON: {error}.") from None


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse a repeated member.

    Parsers disagree on which of the two counts.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _geometries(content: Any, origin: str) -> list[tuple[Mapping[str, Any], str, str]]:
    """Return every geometry with its name and where it stands."""
    kind = _kind(content, origin)
    # Longitude and latitude by their names in the old member crs, which RFC 7946 has taken away.
    known = ("urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84", "urn:ogc:def:crs:EPSG::4326", "EPSG:4326")
    reference = content.get("crs")
    named = reference.get("properties") if isinstance(reference, Mapping) else None
    name = named.get("name") if isinstance(named, Mapping) else reference
    if name is not None and name not in known:
        raise DataFileError(
            f"{origin} is in {_short(name)}, not in longitude and latitude (WGS 84) as GeoJSON has to be. "
            f"Convert it first, as by ogr2ogr -t_srs EPSG:4326 new.geojson old.geojson."
        )
    if kind == "FeatureCollection":
        features = _listed(content.get("features"), origin, "features")
        return [_feature(one, f"Feature {number} of {origin}") for number, one in enumerate(features, 1)]
    return [_feature(content, origin)] if kind == "Feature" else [(content, "", origin)]


def _kind(content: Any, where: str) -> str:
    kind = content.get("type") if isinstance(content, Mapping) else None
    if not isinstance(kind, str):
        raise DataFileError(f"{where} is no GeoJSON: an object with a 'type' was expected; got {_short(content)}.")
    return kind


def _feature(content: Any, where: str) -> tuple[Mapping[str, Any], str, str]:
    if _kind(content, where) != "Feature":
        raise DataFileError(f"{where} should be a Feature; got {_short(content['type'])}.")
    properties = content.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    usual = ("name", "NAME", "Name", "title", "label", "id")
    named = [known[name] for name in usual if isinstance(known.get(name), str | int) and str(known[name]).strip()]
    name = " ".join(str(named[0] if named else content.get("id", "")).split())
    called, geometry = f"{where} ({name})" if name else where, content.get("geometry")
    if geometry is None:
        raise DataFileError(f"{called} has no geometry. Leave it out.")
    _kind(geometry, called)
    return geometry, name, called


def _polygons(geometry: Mapping[str, Any], where: str) -> tuple[tuple[FloatArray, ...], ...]:
    """Return the polygons of a geometry, each checked; they may overlap."""
    kind, coordinates = geometry["type"], geometry.get("coordinates")
    if kind not in ("Polygon", "MultiPolygon"):
        cure = "Give its parts as one MultiPolygon." if kind == "GeometryCollection" else "Give a Polygon."
        raise DataFileError(f"{where} is a {_short(kind)}, which is no area. {cure}")
    parts = [coordinates] if kind == "Polygon" else _listed(coordinates, where, "polygons")
    polygons = tuple(tuple(_ring(ring, where) for ring in _listed(part, where, "rings")) for part in parts)
    try:
        for rings in polygons:
            check_polygon(rings)
    except InvalidInputError as error:
        raise DataFileError(f"{where} is no area: {error}.") from None
    return polygons


def _lines(geometry: Mapping[str, Any], where: str) -> list[FloatArray]:
    kind = geometry["type"]
    if kind == "GeometryCollection":
        within = _listed(geometry.get("geometries"), where, "geometries")
        return [line for one in within if _kind(one, where) for line in _lines(one, where)]
    # How deep the lines lie in the coordinates of a geometry; points have none.
    depths = {"LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2, "Point": -1, "MultiPoint": -1}
    if kind not in depths:
        raise DataFileError(f"{where} is a {_short(kind)}, which GeoJSON does not have.")
    found = [] if depths[kind] < 0 else [geometry.get("coordinates")]
    for _ in range(depths[kind]):
        found = [line for one in found for line in _listed(one, where, "lines")]
    return [_positions(line, where) for line in found]


def _listed(content: Any, where: str, what: str) -> Sequence[Any]:
    if not isinstance(content, Sequence) or isinstance(content, str) or not content:
        raise DataFileError(f"{where} should have a list of {what}, at least one; got {_short(content)}.")
    return content


def _ring(content: Any, where: str) -> FloatArray:
    ring = _positions(content, where)
    if not (ring[0] == ring[-1]).all():
        raise DataFileError(
            f"{where} has a ring that is not closed: it begins at {at(ring[0])} and ends at {at(ring[-1])}. Repeat the "
            f"first position at its end."
        )
    if len(ring) < 4:
        positions = counted(len(ring), "position")
        raise DataFileError(f"{where} has a ring of {positions}; it takes four at least, the last like the first.")
    far = np.flatnonzero(np.abs(np.diff(ring[:, 0])) > 180)
    if far.size:
        raise DataFileError(
            f"{where} has a ring that goes from {at(ring[far[0]])} to {at(ring[far[0] + 1])}, more than half round the "
            f"Earth. {CUT}; if it does go that way, add positions between."
        )
    ring = ring[np.append(True, (np.diff(ring, axis=0) != 0).any(axis=1))]  # one place twice is one
    if len(ring) < 4:
        raise DataFileError(f"{where} has a ring without area at {at(ring[0])}; it takes three different positions.")
    return read_only(ring)


def _positions(content: Any, where: str) -> FloatArray:
    """Return positions as longitude and latitude, without heights."""
    rows = _listed(content, where, "positions")
    for one in rows:
        is_listed = isinstance(one, Sequence) and not isinstance(one, str) and len(one) in (2, 3)
        if not is_listed or not all(isinstance(part, int | float) and not isinstance(part, bool) for part in one):
            raise DataFileError(f"{where} should have positions [longitude, latitude]; got {_short(one)}.")
    # Huge whole numbers of Python would not fit a float; cut, they are outside all the same.
    found = np.array([[float(min(max(part, -1e9), 1e9)) for part in one[:2]] for one in rows])
    outside = ~((np.abs(found[:, 0]) <= 180) & (np.abs(found[:, 1]) <= 90))
    if outside.any():
        is_swapped = bool((np.abs(found[:, 0]) <= 90).all() and (np.abs(found[:, 1]) <= 180).all())
        swapped = "GeoJSON has longitude first: they look swapped."
        raise DataFileError(
            f"{where} has the position {_short(rows[int(np.argmax(outside))])}; longitudes go from -180 to 180 and "
            f"latitudes from -90 to 90. {swapped if is_swapped else f'{CUT}; convert other coordinates first.'}"
        )
    return found


def _short(content: Any) -> str:
    words = repr(content)
    return words if len(words) <= 60 else f"{words[:59]}…"
