"""Page at the root of a collector: what this is, where people take part, and where curators look."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files

from confide.collector.service import Entry

# What the design of all pages does not have: one narrow column, and a row for each survey.
STYLE = """
body { margin: 0 auto; max-width: 44rem; padding: var(--space-6) var(--space-4) var(--space-12);
  background: var(--page); color: var(--ink); font: var(--text)/var(--leading) var(--font); overflow-wrap: anywhere; }
h1 { font-size: var(--text-title); line-height: 1.2; margin: 0 0 var(--space-3); }
h2 { font-size: var(--text-heading); margin: var(--space-8) 0 var(--space-3); }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: var(--space-3); }
li { background: var(--card); border: 1px solid var(--rule); border-radius: var(--radius); padding: var(--space-4); }
li h3 { font-size: var(--text-lead); margin: 0; }
p { margin: var(--space-2) 0; }
p.note, label { color: var(--faint); font-size: var(--text-small); }
a { color: var(--stacked); display: inline-block; padding: var(--space-2) 0; }
form { display: flex; flex-wrap: wrap; gap: var(--space-2); align-items: end; }
label { flex: 1 1 12em; display: grid; gap: var(--space-1); }
input, button { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--truth);
  border-radius: var(--radius-small); padding: var(--space-2) var(--space-3);
  min-height: 44px; box-sizing: border-box; }
button { font-weight: 600; cursor: pointer; }
"""


def home(entries: Iterable[Entry], *, has_studio: bool = False) -> str:
    """Return the page at the root, with a form that shows a survey's page to whoever has a token."""
    surveys = "".join(_survey(one, has_studio=has_studio) for one in entries)
    listed = f"<h2>Surveys</h2><ul>{surveys}</ul>" if surveys else "<p>No survey has been added yet.</p>"
    studio = '<p><a href="/studio">The studio, for curators: design surveys and look</a></p>' if has_studio else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>confide collector</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_design()}{STYLE}</style></head>'
        "<body><main><h1>A confide collector</h1>"
        "<p>Devices send blurred reports here. No address, no time finer than the day and no order is kept.</p>"
        f'{studio}{listed}<p class="note"><a href="/openapi.json">Description for programs</a></p></main></body></html>'
    )


def _survey(entry: Entry, *, has_studio: bool) -> str:
    fingerprint, title = entry.stored.fingerprint, escape(entry.survey.title)
    take = f'<p><a href="/take/{fingerprint}">Take part</a></p>' if has_studio else ""
    return (
        f"<li><h3><bdi>{title}</bdi></h3>"
        f"{'<p class=note>Answered by simulated people.</p>' if entry.stored.is_simulated else ''}"
        f"{'<p class=note>Closed: no more reports are taken.</p>' if entry.stored.is_closed else take}"
        f'<form method="post" action="/v1/surveys/{fingerprint}/page"><label>Token, to see its page'
        '<input type="password" name="token" autocomplete="off"></label>'
        f'<button aria-label="Show the page of {title}">Show</button></form></li>'
    )


@cache
def _design() -> str:
    return (files("confide") / "pages" / "design.css").read_text(encoding="utf-8")
