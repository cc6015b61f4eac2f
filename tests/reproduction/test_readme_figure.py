"""The README's picture: as wide and as light as it should be, with numbers that were computed."""

from __future__ import annotations

import pytest

from reproduction.readme_figure import DOTS_PER_INCH, PLACE, WIDTH, draw


def test_the_stored_picture_is_sharp_and_light() -> None:
    content = PLACE.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == round(WIDTH * DOTS_PER_INCH) == 1280
    assert content[25] == 6, "colours with transparency: the corners show the page behind"
    assert len(content) < 150_000


@pytest.mark.slow
def test_its_labels_are_what_the_demo_gives() -> None:
    axes = draw().axes[0]
    labels = " ".join(text.get_text() for text in axes.texts)
    for words in ("17.6 years on average", "0.5 years from the truth", "9% say 0", "3% say 99"):
        assert words in labels
    truth, sent, recovered = (patch.get_data().values for patch in axes.patches)  # type: ignore[attr-defined]
    assert truth.max() == pytest.approx(0.0276, abs=1e-4)
    assert sent[1:-1].max() < truth.max() < recovered.max() * 1.1
    assert recovered[25:45].sum() == pytest.approx(truth[25:45].sum(), abs=0.03)
