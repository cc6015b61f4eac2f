r"""Reading and writing files of values, reports, counts and estimates.

A file of values or reports is CSV with a header: one row per person or, with a column ``count``, one row per value.
Every row is either accepted, or rejected with its line and a reason.

>>> import tempfile
>>> from pathlib import Path
>>> from confide import Integers, Survey, TruncatedGeometric
>>> survey = Survey(TruncatedGeometric(Integers(0, 99), epsilon=0.05), name="age")
>>> with tempfile.TemporaryDirectory() as folder:
...     write_text(Path(folder) / "people.csv", "age,town\n30,Oslo\n140,Rome\n35,Bern\n")
...     rows = read_values(Path(folder) / "people.csv", survey)
>>> rows.values.tolist(), [(one.line, one.text, str(one.reason)) for one in rows.rejected]
([30, 35], [(3, '140', 'outside the alphabet')])
>>> print(rows.account)
3 rows read = 2 accepted + 1 rejected
"""

from confide.data.files.counts_files import (
    CountedReports,
    CountsFile,
    GroupedCounts,
    Heading,
    Key,
    is_counts_file,
    label_group,
    load_counts,
    read_counts,
    read_heading,
    save_counts,
    shown_order,
    write_counts,
)
from confide.data.files.privatizing import Privatized, privatize_file, shuffle
from confide.data.files.reading import Rows, read_report_rows, read_value_batches, read_values
from confide.data.files.records import (
    GroupAnswers,
    SurveyGroups,
    alphabet_record,
    ask_groups,
    cross_csv,
    describe_left_out,
    diagnosis_record,
    estimate_csv,
    estimate_file,
    estimate_geojson,
    estimate_record,
    follow_groups,
    group_reports_record,
    groups_csv,
    groups_record,
    margin_csv,
    questions_of,
    series_columns,
    series_csv,
    series_record,
    shares_of,
    tables_record,
    to_json,
)
from confide.data.files.sheets import REPORT_COLUMN, Account, Reason, Reject, name_columns
from confide.data.files.unbiasing import PseudoColumn, UnbiasedFile, read_people, unbias_file
from confide.data.files.writing import (
    Metadata,
    as_meant,
    as_shown,
    check_writable,
    csv_text,
    read_metadata,
    report_columns,
    whole_file,
    write_rejects,
    write_reports,
    write_text,
    write_values,
)
