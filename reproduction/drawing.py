"""From tables to figures. Drawing sees nothing but the tables."""

from __future__ import annotations

import hashlib
from pathlib import Path

from confide.files import write_text
from reproduction.base import Experiment, Picture, Tables
from reproduction.folder import Folder, code_digest

DOTS_PER_INCH = 150


def needs_drawing(experiment: Experiment, folder: Folder) -> bool:
    """Whether some figure was not yet drawn from the tables that are there."""
    return bool(_pending(experiment, folder, _state(experiment, folder)))


def draw_pictures(experiment: Experiment, path: Path) -> int:
    """Draw every figure of an experiment as PNG and PDF, unless it was drawn from these tables already.

    Returns
    -------
    How many were drawn.
    """
    folder = Folder(path)
    state = _state(experiment, folder)
    pending = _pending(experiment, folder, state)
    tables = folder.read_tables(experiment) if pending else {}
    for picture in pending:
        _draw(picture, tables, folder)
        write_text(_mark(picture, folder), state)
    return len(pending)


def _pending(experiment: Experiment, folder: Folder, state: str) -> list[Picture]:
    return [picture for picture in experiment.pictures if not _is_drawn(picture, folder, state)]


def _draw(picture: Picture, tables: Tables, folder: Folder) -> None:
    from confide.figures import to_pdf, to_png

    figure = picture.draw(tables)
    to_png(figure, folder.figure(picture.name), dpi=DOTS_PER_INCH)
    to_pdf(figure, folder.figure(picture.name, "pdf"))


def _state(experiment: Experiment, folder: Folder) -> str:
    """Return a digest of all that a drawing depends on."""
    digest = hashlib.sha256(code_digest().encode())
    for name in experiment.columns:
        digest.update(folder.table(experiment, name).read_bytes())
    return digest.hexdigest()


def _is_drawn(picture: Picture, folder: Folder, state: str) -> bool:
    files = [folder.figure(picture.name, ending) for ending in ("png", "pdf")]
    mark = _mark(picture, folder)
    return all(file.exists() for file in files) and mark.exists() and mark.read_text(encoding="utf-8") == state


def _mark(picture: Picture, folder: Folder) -> Path:
    return folder.path / "cells" / f"{picture.name}.drawn"
