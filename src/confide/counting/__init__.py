"""Reports at scale: files and tables of any size become counts, on DuckDB or on Spark, by the same SQL text.

>>> import pyarrow
>>> from confide import Integers, TruncatedGeometric
>>> reports = pyarrow.table({"town": ["Oslo", "Rome", "Oslo"], "report": [3, 5, 3]})
>>> count(reports, TruncatedGeometric(Integers(0, 9), epsilon=1.0), by="town")
GroupedCounts(2 groups by town, 3 rows)
"""

from confide.counting.counting import ENGINES, Ledger, count, name_rejects, open_ledger, plan_query, refuse_rejects
from confide.counting.files import CountsFile, Heading, is_counts_file, read_counts, read_heading, write_counts
from confide.counting.findings import find_files
from confide.counting.groups import CountedReports, GroupedCounts, Key, label_group
from confide.counting.merging import merge_files
from confide.counting.query import Query
from confide.counting.rejects import Reject, RowTotals, write_rejects
from confide.counting.sources import Request

__all__ = [
    "ENGINES",
    "CountedReports",
    "CountsFile",
    "GroupedCounts",
    "Heading",
    "Key",
    "Ledger",
    "Query",
    "Reject",
    "Request",
    "RowTotals",
    "count",
    "find_files",
    "is_counts_file",
    "label_group",
    "merge_files",
    "name_rejects",
    "open_ledger",
    "plan_query",
    "read_counts",
    "read_heading",
    "refuse_rejects",
    "write_counts",
    "write_rejects",
]
