"""GeoJSON (RFC 7946), read strictly: areas for holes and questions, lines for the background of a map.

A ring that is not closed, crosses itself or runs across the date line is refused, with what to do about it; so are
positions that are none, and files in other coordinates.

>>> park = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]]}
>>> [area.box for area in read_areas(park)]
[(0.0, 0.0, 1.0, 2.0)]
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from confide.errors import DataFileError, InvalidInputError, InvalidParameterError
from confide.values.checks import kind_of, read_only
from confide.values.polygons import Area, FloatArray, at, check_polygon
from confide.values.wording import counted

GeoJSON = str | PathLike[str] | Mapping[str, Any]
"""A file of GeoJSON, or an object of it as :func:`json.loads` returns one."""

LARGEST_FILE = 2**28
"""Bytes of a file that is read: a quarter of a gigabyte; the buildings of a large city take less."""

NAMES = ("name", "NAME", "Name", "title", "label", "id")
"""Properties of a feature that may name it, the usual first."""

WGS84 = ("urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84", "urn:ogc:def:crs:EPSG::4326", "EPSG:4326")
"""Names of longitude and latitude in the old member ``crs``, which RFC 7946 has taken away."""

DEPTHS = {"Point": -1, "MultiPoint": -1, "LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}
"""How deep the lines lie in the coordinates of a geometry; points have none."""

CUT = "Across the date line, cut it there into a MultiPolygon (RFC 7946, 3.1.9)"


def read_areas(source: GeoJSON) -> list[Area]:
    """Read areas: a Polygon, a MultiPolygon, a Feature of one, or a FeatureCollection of these; one area a feature.

    An area has the name that its feature has among its properties, else that of the file.

    Raises
    ------
    DataFileError
        If it is no GeoJSON, or holds something other than areas, or an area that is none; it says where.
    """
    content, origin = _load(source)
    found = [(_polygons(geometry, where), name) for geometry, name, where in _geometries(content, origin)]
    names = _distinct([name for _, name in found], "area" if isinstance(source, Mapping) else Path(origin).stem)
    return [Area(polygons, name) for (polygons, _), name in zip(found, names, strict=True)]


def read_lines(source: GeoJSON) -> list[FloatArray]:
    """Read lines to draw behind a map, borders of areas among them, as arrays of longitude and latitude.

    Nothing is asked of them but positions; points are left out.
    """
    content, origin = _load(source)
    lines = [line for geometry, _, where in _geometries(content, origin) for line in _lines(geometry, where)]
    if not lines:
        raise DataFileError(f"{origin} has no lines and no areas to draw. Give a coast, borders or streets as GeoJSON.")
    return lines


def _distinct(names: Sequence[str], otherwise: str) -> list[str]:
    """Return names for all, the others by the file and their number, and a number behind those that stand twice.

    >>> _distinct(["Old Town", "", "Old Town"], "districts")
    ['Old Town', 'districts 2', 'Old Town (2)']
    """
    is_one, found = len(names) == 1, []
    for place, name in enumerate(names):
        known = name or (otherwise if is_one else f"{otherwise} {place + 1}")
        again = names[:place].count(name) if name else 0
        found.append(f"{known} ({again + 1})" if again else known)
    return found


def _load(source: GeoJSON) -> tuple[Any, str]:
    """Return an object of GeoJSON, and what to call it."""
    if isinstance(source, Mapping):
        return source, "The GeoJSON"
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameterError(f"source must be a path or a dictionary; got {kind_of(source)}.")
    path = Path(source)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise DataFileError(
                f"{path} has {path.stat().st_size:,} bytes, more than the {LARGEST_FILE:,} that are read. Keep the "
                f"areas that are asked for, and fewer positions of each."
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
    """Return an object; one that says two things of one member is refused, for parsers take either."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _geometries(content: Any, origin: str) -> list[tuple[Mapping[str, Any], str, str]]:
    """Return every geometry with its name and where it stands."""
    kind = _kind(content, origin)
    _check_reference(content, origin)
    if kind == "FeatureCollection":
        features = _listed(content.get("features"), origin, "features")
        return [_feature(one, f"Feature {number} of {origin}") for number, one in enumerate(features, 1)]
    return [_feature(content, origin)] if kind == "Feature" else [(content, "", origin)]


def _kind(content: Any, where: str) -> str:
    kind = content.get("type") if isinstance(content, Mapping) else None
    if not isinstance(kind, str):
        raise DataFileError(f"{where} is no GeoJSON: an object with a 'type' was expected; got {_short(content)}.")
    return kind


def _check_reference(content: Mapping[str, Any], origin: str) -> None:
    reference = content.get("crs")
    named = reference.get("properties") if isinstance(reference, Mapping) else None
    name = named.get("name") if isinstance(named, Mapping) else reference
    if name is not None and name not in WGS84:
        raise DataFileError(
            f"{origin} is in {_short(name)}, not in longitude and latitude (WGS 84) as GeoJSON has to be. "
            f"Convert it first, as by ogr2ogr -t_srs EPSG:4326 new.geojson old.geojson."
        )


def _feature(content: Any, where: str) -> tuple[Mapping[str, Any], str, str]:
    if _kind(content, where) != "Feature":
        raise DataFileError(f"{where} should be a Feature; got {_short(content['type'])}.")
    properties = content.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    named = [known[name] for name in NAMES if isinstance(known.get(name), str | int) and str(known[name]).strip()]
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
    if kind not in DEPTHS:
        raise DataFileError(f"{where} is a {_short(kind)}, which GeoJSON does not have.")
    found = [] if DEPTHS[kind] < 0 else [geometry.get("coordinates")]
    for _ in range(DEPTHS[kind]):
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
    """Return positions as an array of longitude and latitude; heights are left out."""
    rows = _listed(content, where, "positions")
    for one in rows:
        is_listed = isinstance(one, Sequence) and not isinstance(one, str) and len(one) in (2, 3)
        if not is_listed or not all(isinstance(part, int | float) and not isinstance(part, bool) for part in one):
            raise DataFileError(f"{where} should have positions [longitude, latitude]; got {_short(one)}.")
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
