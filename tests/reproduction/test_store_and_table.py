"""Finished cells on disk, and tables that come back as they were."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import confide as cf
from reproduction import Binomial, Blur, Table
from reproduction.cells import Contender, Draw, Record, run_draw
from reproduction.folder import Store
from reproduction.table import load_pyarrow

KINDS = {"method": "text", "iterations": "whole", "emd": "number"}
TABLE = Table(KINDS, (("IBU, held-out", 12, 0.1), ('a "quoted" name', None, None), ("", 0, math.inf)))


def some_records() -> list[Record]:
    contenders = [Contender(cf.IBU()), Contender(cf.MLE())]
    return run_draw(Draw(Binomial(5, 0.5), Blur("truncated-geometric", 0.3), 0), contenders, is_kept=False)


def test_a_store_remembers(tmp_path: Path) -> None:
    records = some_records()
    Store.open(tmp_path / "cells.jsonl").add(records)
    assert list(Store.open(tmp_path / "cells.jsonl").finished.values()) == records
    assert Store.open(tmp_path / "cells.jsonl", is_fresh=True).finished == {}


def test_a_line_that_was_cut_short_is_passed_over_and_written_again(tmp_path: Path) -> None:
    path, records = tmp_path / "cells.jsonl", some_records()
    Store.open(path).add(records)
    path.write_bytes(path.read_bytes()[:-25])
    store = Store.open(path)
    assert list(store.finished.values()) == records[:1]
    store.add(records[1:])
    assert list(Store.open(path).finished.values()) == records


def test_cells_of_another_declaration_are_counted(tmp_path: Path) -> None:
    store, records = Store.open(tmp_path / "cells.jsonl"), some_records()
    store.add(records)
    assert store.stale({record.setting for record in records}) == 0
    assert store.stale({records[0].setting}) == 1


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "table.csv")
    assert Table.read(tmp_path / "table.csv", KINDS) == TABLE
    parquet = load_pyarrow().parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert parquet == {name: TABLE.column(name) for name in KINDS}


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        TABLE.write(tmp_path / f"{name}.csv")
    for ending in ("csv", "parquet"):
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()


def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "table.csv")
    with pytest.raises(cf.ConfideError, match="has the columns method, iterations, emd"):
        Table.read(tmp_path / "table.csv", {"method": "text"})
    with pytest.raises(cf.ConfideError, match="cannot be read"):
        Table.read(tmp_path / "none.csv", KINDS)


def test_bad_tables_are_refused() -> None:
    with pytest.raises(cf.ConfideError, match="text, whole or number"):
        Table({"a": "date"}, ())
    with pytest.raises(cf.ConfideError, match="needs 3 cells"):
        Table(KINDS, (("IBU",),))
    with pytest.raises(cf.ConfideError, match="no emd to take a median of"):
        TABLE.where(method="MLE").median("emd")


def test_rows_are_chosen_by_cells() -> None:
    assert len(TABLE.where(iterations=[12, 0])) == 2
    assert len(TABLE.where(iterations=None)) == 1
