"""Preloaded by the fork server, so that a worker starts in milliseconds."""

from __future__ import annotations

import warnings

import numpy as np

from confide.data import datasets
from confide.estimates.estimate import estimate
from confide.mechanisms import TruncatedGeometric
from confide.present.pages import estimate_page  # noqa: F401 - loaded here, so that no worker has to
from confide.studio import answers, looks  # noqa: F401 - as above
from confide.studio.drafts import preview, templates

for _template in templates():
    preview({"draft": _template["draft"]}, lambda *_: None)

with warnings.catch_warnings(action="ignore"):
    _ages = datasets.adult_ages()
    _mechanism = TruncatedGeometric(_ages.alphabet, 0.2)
    _answer = estimate(_mechanism.simulate_counts(np.asarray(_ages.histogram) // 20, rng=0), _mechanism)
    _answer.statistics()  # loads the modules that an estimate imports on first use
