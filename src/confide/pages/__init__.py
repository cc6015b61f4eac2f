"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from confide.pages.diagnosis import diagnosis_page
from confide.pages.estimate import estimate_page
from confide.pages.groups import groups_page
from confide.pages.plan import plan_page

__all__ = ["diagnosis_page", "estimate_page", "groups_page", "plan_page"]
