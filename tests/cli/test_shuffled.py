"""A survey that names who shuffles: its central promise is in show, in a plan and on the page, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Call

SURVEY = """name = "answer"
{shuffler}
[alphabet]
kind = "categories"
values = ["never", "sometimes", "often"]

[mechanism]
kind = "randomized-response"
epsilon = 1.0
"""


def test_a_shuffler_is_told_with_the_number_of_reports_at_hand(call: Call, folder: Path) -> None:
    (folder / "plain.toml").write_text(SURVEY.format(shuffler=""))
    (folder / "mixed.toml").write_text(SURVEY.format(shuffler='shuffler = "the clinic"'))
    (folder / "values.csv").write_text("answer\n" + "never\n" * 300 + "often\n" * 200)
    said = {}
    for name in ("plain", "mixed"):
        survey = f"{name}.toml"
        call("privatize", survey, "values.csv", "-o", f"{name}-r.csv")
        call("estimate", survey, f"{name}-r.csv", "-o", f"{name}.html")
        plan = call("plan", survey, "--people", "2000", "--guess", "uniform")
        assert plan.code == 0, plan.err
        said[name] = [call("show", survey).out, plan.out, (folder / f"{name}.html").read_text()]
    for text, people in zip(said["mixed"], ("100,000", "2,000", "500"), strict=True):
        assert f"of {people} reports, one each, only the clinic can say whose is whose" in " ".join(text.split())
    assert not any("shuffled" in text and "clinic" in text for text in said["plain"])
    assert call("show", "mixed.toml", "--json").record["shuffler"] == "the clinic"
    assert call("show", "plain.toml", "--json").record["shuffler"] is None
