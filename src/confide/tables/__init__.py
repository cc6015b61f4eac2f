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

from confide.tables.diagnoses import diagnosis_record
from confide.tables.reading import REPORT_COLUMN, Reason, Rejection, Rows, read_reports, read_values
from confide.tables.writing import (
    alphabet_record,
    check_writable,
    csv_text,
    estimate_csv,
    estimate_record,
    to_json,
    write_rejections,
    write_reports,
    write_text,
    write_values,
)

__all__ = [
    "REPORT_COLUMN",
    "Reason",
    "Rejection",
    "Rows",
    "alphabet_record",
    "check_writable",
    "csv_text",
    "diagnosis_record",
    "estimate_csv",
    "estimate_record",
    "read_reports",
    "read_values",
    "to_json",
    "write_rejections",
    "write_reports",
    "write_text",
    "write_values",
]
