"""README and documentation are easy to read: short sentences, short paragraphs, a table or picture on every guide."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean, median

from tests.cases import each

ROOT = Path(__file__).parent.parent
BUILT = ("commands.md",)  # written by the build of the site
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "vectors" / "README.md",
    ROOT / "reproduction" / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("**/*.md")) if page.name not in BUILT),
]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def paragraphs_of(text: str) -> list[str]:
    """Return paragraphs and list items, without code, tables, headings and pictures."""
    for pattern, replacement in (
        (r"```.*?```", ""),
        (r"^\|.*$", ""),
        (r"^#+ .*$", ""),
        (r"!\[[^\]]*\]\([^)]*\)", ""),
        (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
        (r"`[^`]*`", "x"),
        (r"[*_>]", ""),
    ):
        text = re.sub(pattern, replacement, text, flags=re.DOTALL if "```" in pattern else re.MULTILINE)
    return [" ".join(one.split()) for one in re.split(r"\n\s*\n|\n[-*] ", text) if one.strip()]


def words_of(parts: list[str], least: int) -> list[int]:
    """Return how many words each part has, of those with at least so many."""
    return [number for one in parts if (number := len(one.split())) >= least] or [0]


@each("page", PAGES, ids=named)
def test_sentences_and_paragraphs_are_short(page: Path) -> None:
    parts = paragraphs_of(page.read_text(encoding="utf-8"))
    sentences = words_of([one for part in parts for one in re.split(r"(?<=[.!?:;])\s+(?=[A-Z0-9])", part)], least=3)
    paragraphs = words_of(parts, least=6)
    assert mean(sentences) <= 16, "more than 16 words a sentence"
    assert sum(number > 30 for number in sentences) <= 0.05 * len(sentences), "more than 5% of sentences over 30 words"
    assert median(paragraphs) <= 30, "a median paragraph of more than 30 words"
    assert max(paragraphs) <= 80, "a paragraph of more than 80 words"


@each("guide", GUIDES, ids=named)
def test_every_guide_shows_a_table_or_a_picture(guide: Path) -> None:
    assert re.search(r"^\|.*\|$|!\[", guide.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_measure_measures() -> None:
    text = "# Head\n\nOne two three four. Five six seven.\n\n- eight `nine ten` [eleven](x.md) twelve\n\n| a | b |\n"
    assert paragraphs_of(text) == ["One two three four. Five six seven.", "- eight x eleven twelve"]
