r"""Files of values and reports in, files of reports and estimates out.

A file of values or reports is CSV with a header line: one row a person or, where a column is called ``count``, one row
a value and how often it occurs. Every row that is read is either accepted, or rejected with its line and a reason.

>>> import tempfile
>>> from pathlib import Path
>>> from confide import Integers, Survey, TruncatedGeometric
>>> survey = Survey(TruncatedGeometric(Integers(0, 99), epsilon=0.05), name="age")
>>> with tempfile.TemporaryDirectory() as folder:
...     write_text(Path(folder) / "people.csv", "age,town\n30,Oslo\n140,Rome\n35,Bern\n")
...     rows = read_values(Path(folder) / "people.csv", survey)
>>> rows.values.tolist(), rows.rejected
([30, 35], (Rejection(line=3, text='140', reason=<Reason.OUTSIDE: 'outside the alphabet'>),))
>>> print(rows)
3 rows read = 2 accepted + 1 rejected
"""

from confide.files.diagnoses import diagnosis_record
from confide.files.privatizing import RunningAccount, privatize_file
from confide.files.reading import (
    LARGEST_COUNT,
    PARQUET,
    REPORT_COLUMN,
    SHOWN_REJECTIONS,
    Account,
    Reason,
    Rejection,
    Rows,
    find_fault,
    read_report_batches,
    read_reports,
    read_value_batches,
    read_values,
)
from confide.files.sheets import (
    COUNT_COLUMN,
    STANDARD_STREAM,
    Layout,
    describe_misfit,
    explained,
    open_sheet,
    opened,
    split_lines,
    text_blocks,
)
from confide.files.streaming import ReportSink, report_sink
from confide.files.writing import (
    alphabet_record,
    check_writable,
    csv_text,
    estimate_csv,
    estimate_record,
    finding_record,
    report_columns,
    to_json,
    value_columns,
    whole_file,
    write_rejections,
    write_reports,
    write_text,
    write_values,
)

__all__ = [
    "COUNT_COLUMN",
    "LARGEST_COUNT",
    "PARQUET",
    "REPORT_COLUMN",
    "SHOWN_REJECTIONS",
    "STANDARD_STREAM",
    "Account",
    "Layout",
    "Reason",
    "Rejection",
    "ReportSink",
    "Rows",
    "RunningAccount",
    "alphabet_record",
    "check_writable",
    "csv_text",
    "describe_misfit",
    "diagnosis_record",
    "estimate_csv",
    "estimate_record",
    "explained",
    "find_fault",
    "finding_record",
    "open_sheet",
    "opened",
    "privatize_file",
    "read_report_batches",
    "read_reports",
    "read_value_batches",
    "read_values",
    "report_columns",
    "report_sink",
    "split_lines",
    "text_blocks",
    "to_json",
    "value_columns",
    "whole_file",
    "write_rejections",
    "write_reports",
    "write_text",
    "write_values",
]
