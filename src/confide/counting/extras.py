"""The packages that count, imported where they are used and named with their install command where they are missing."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from confide.errors import DataFileError, MissingExtraError
from confide.files import explained

PURPOSE = "Counting reports in files"


def require_duckdb() -> Any:
    """Return the package duckdb, or say how to install it."""
    return _require("duckdb", PURPOSE, "counting")


def require_pyarrow() -> Any:
    """Return the package pyarrow, or say how to install it."""
    return _require("pyarrow", PURPOSE, "counting")


def require_parquet() -> Any:
    """Return the module pyarrow.parquet, or say how to install it."""
    return _require("pyarrow.parquet", PURPOSE, "counting")


def require_pyspark() -> Any:
    """Return the module pyspark.sql, or say how to install it."""
    with warnings.catch_warnings():
        # It warns of the pandas that happens to be installed, which counting does not use.
        warnings.simplefilter("ignore")
        return _require("pyspark.sql", "Counting on Spark", "spark")


@contextlib.contextmanager
def parquet_explained(path: str) -> Iterator[None]:
    """Turn what can go wrong with a Parquet file into one sentence."""
    arrow_error = require_pyarrow().ArrowException
    try:
        with explained(path):
            yield
    except arrow_error as error:
        reason = str(error).splitlines()[0].removesuffix(".")
        raise DataFileError(f"{path} is not a whole Parquet file: {reason}. Was it cut off? Copy it again.") from None


def _require(module: str, purpose: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(module.partition(".")[0], purpose, extra) from None
