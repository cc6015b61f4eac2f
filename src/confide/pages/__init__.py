"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from confide.pages.estimate import estimate_page
from confide.pages.groups import groups_page

__all__ = ["estimate_page", "groups_page"]
