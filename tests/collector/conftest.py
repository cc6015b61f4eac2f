from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.killing import Nursery, nursery, postgres

from confide.collector.stores import Store, open_store

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL of its own, from a wheel; under root it runs as another user, who must get to its folder."""
    with postgres() as address:
        yield address


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


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    """An open store in a file, for what needs one."""
    found = open_store(str(tmp_path / "store.db"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    """A process that forks servers."""
    with nursery() as found:
        yield found
