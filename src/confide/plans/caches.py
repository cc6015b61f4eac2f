"""Simulated numbers kept on disk, so that the same question is answered at once."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from confide.channels.base import FloatArray

VARIABLE = "CONFIDE_CACHE"
"""The environment variable that names another folder."""


@dataclass(frozen=True)
class Cache:
    """A folder with one small file a simulated setting. It holds errors only: no values, no guess, no reports.

    A folder that cannot be written, and a file that cannot be read, are no failure: then it is simulated again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.put("abc", np.array([0.5, 0.25]))
    ...     cache.get("abc"), cache.get("def")
    (array([0.5 , 0.25]), None)
    """

    folder: Path

    def get(self, key: str) -> FloatArray | None:
        """Return the errors that were kept under a fingerprint, if any."""
        try:
            kept = np.array(json.loads(self._path(key).read_text(encoding="utf-8"))["errors"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kept if kept.ndim == 1 and np.isfinite(kept).all() else None

    def put(self, key: str, errors: FloatArray) -> None:
        """Keep errors under a fingerprint: the whole file, or none of it."""
        import secrets  # brings half of the standard library's cryptography along, so only where something is kept

        path = self._path(key)
        beside = path.with_suffix(f".{secrets.token_hex(4)}.partial")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({"errors": errors.tolist()}), encoding="utf-8")
            beside.replace(path)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def usual_cache(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Cache:
    """Return the cache in the user's own folder for such things.

    >>> usual_cache({"CONFIDE_CACHE": "there"}).folder.as_posix()
    'there/plans'
    """
    return Cache(_folder(environment, platform) / "plans")


def _folder(environment: Mapping[str, str], platform: str) -> Path:
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    home = Path(environment.get("HOME") or Path.home())
    if platform == "darwin":
        return home / "Library" / "Caches" / "confide"
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "confide" / "Cache"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "confide"
