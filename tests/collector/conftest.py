from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.collector.stores import Store, open_store

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL of its own, from a wheel."""
    with warnings.catch_warnings(action="ignore"):  # its own, about the folders of this machine
        from pgserver.postgres_server import get_server

        server = get_server(tmp_path_factory.mktemp("postgresql"), cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def database(postgresql: str) -> str:
    """A fresh database in it."""
    import psycopg

    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgresql.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is to be: in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    found: str = request.getfixturevalue("database")
    return found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store, in both kinds of database."""
    found = open_store(url)
    yield found
    found.close()
