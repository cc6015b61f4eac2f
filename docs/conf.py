"""The documentation site: `make docs` builds it into build/site; warnings are errors."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

import confide
from confide.present.figures import to_png

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # the gallery draws the paper's figures with reproduction/

project = "confide"
author = "The confide authors"
version = release = confide.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_llms_txt",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*/*.ipynb", "sg_execution_times.rst"]
suppress_warnings = ["config.cache", "myst.header"]

# Notebooks run when the site is built. The blocks of other pages run in the tests.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Queries and options are copied from these pages: quotes stay straight, and two hyphens stay two.
smartquotes = False
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def scrape_sketches(_block: object, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the paper's figures, which pyplot does not know, one below the other."""
    pictures = zip(block_vars["example_globals"].pop("figures", []), block_vars["image_path_iterator"], strict=False)
    shown = []
    for figure, path in pictures:
        to_png(figure, path, dpi=120)
        shown.append(figure_rst([path], gallery_conf["src_dir"]))
    return "".join(shown)


def show_whole(_gallery_conf: dict[str, Any], _script: str) -> None:
    """Save figures with all of their labels, whatever an example sets."""
    mpl.rcParams["savefig.bbox"] = "tight"


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib", scrape_sketches),
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", show_whole),
    "backreferences_dir": "api/examples",
    "doc_module": ("confide",),
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "confide"
html_static_path = ["_static"]
html_css_files = ["confide.css"]
html_sidebars = {
    page: [] for page in ("commands", "security", "compatibility", "glossary", "changelog")
}  # they have no section
html_show_sourcelink = False
html_copy_source = True
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "The confide authors, MIT licence"  # noqa: A001 (Sphinx's name)


def write_commands() -> None:
    """Write the page of the command line from the commands themselves."""
    import typer

    from confide.cli.main import COMMANDS, app, examples_of

    group = typer.main.get_command(app)
    lines = ["# Command line", "", "`confide COMMAND --help` prints the same.", ""]
    for called in COMMANDS:
        command = group.get_command(None, called)  # type: ignore[attr-defined]
        paragraphs = (command.help or "").split("\f")[0].strip().split("\n\n")
        lines += [f"## confide {called}", "", " ".join(paragraphs[0].split()), ""]
        options = [one for one in command.params if getattr(one, "help", None)]
        if options:
            lines += ["| option | what it does |", "| --- | --- |"]
            for one in options:
                name = (
                    ", ".join(one.opts) if one.param_type_name == "option" else (one.metavar or one.name or "").upper()
                )
                words = re.sub(r"(?<![\w-])--?[a-z][\w-]*", r"`\g<0>`", " ".join(one.help.split()))
                lines.append(f"| `{name}` | {words.replace('|', chr(92) + '|')} |")
            lines += [""]
        lines += ["```text", *examples_of(called), "```", ""]
    (DOCS / "commands.md").write_text("\n".join(lines), encoding="utf-8")


SECTIONS = {
    "confide.values": "Values",
    "confide.mechanisms": "Mechanisms",
    "confide.solve": "Methods",
    "confide.surveys": "Surveys and files",
    "confide.data": "Surveys and files",
}
"""Sections of the API reference by the room that defines a name; the rest are estimates and checks."""


BESIDE = {
    "Mechanisms": ["mechanisms.LocalDP", "mechanisms.MetricPrivacy"],
    "Methods": ["solve.methods.BitInversion"],
    "Estimates and checks": [
        *("estimates.Likelihood", "estimates.Bootstrap", "check.fit_groups", "check.fit_pool"),
        *("evidence.Accumulator", "evidence.Shape"),
    ],
    "Results": [
        *("estimates.Estimate", "estimates.GroupEstimates", "estimates.changes.Series", "estimates.Interval"),
        *(
            "estimates.Band",
            "estimates.Windows",
            "estimates.diagnosis.Diagnosis",
            "check.Fit",
            "mechanisms.audits.Audit",
        ),
        *("plans.Plan", "plans.Ranking", "regression.answers.Regression"),
    ],
    "Errors and warnings": [
        *("errors.LimitError", "errors.NotIdentifiedWarning", "errors.PoorFitWarning"),
        *("errors.SimulatedReportsWarning", "errors.UniformReportsWarning"),
    ],
}
"""What else has a page there: names of a room, which are reached through it, and results that functions return."""


def write_reference() -> None:
    """Write the index of the API reference: every public name, in the section of its room."""
    from confide import api

    sections: dict[str, list[str]] = {}
    for name in sorted(api.__all__):
        thing = getattr(confide, name)
        room = ".".join(str(getattr(thing, "__module__", "")).split(".")[:2])
        if inspect.isclass(thing) and issubclass(thing, Exception):
            section = "Errors and warnings"
        else:
            section = "Modules" if inspect.ismodule(thing) else SECTIONS.get(room, "Estimates and checks")
        sections.setdefault(section, []).append(name)
    lines = ["Python", "======", "", "``import confide as cf`` reaches every name on this page.", ""]
    for section in dict.fromkeys(
        [*SECTIONS.values(), "Estimates and checks", "Results", "Modules", "Errors and warnings"]
    ):
        lines += [section, "-" * len(section), "", ".. currentmodule:: confide", "", ".. autosummary::"]
        lines += [
            "   :toctree: generated",
            "   :nosignatures:",
            "",
            *(f"   {name}" for name in [*sections.get(section, []), *BESIDE.get(section, [])]),
            "",
        ]
    (DOCS / "api").mkdir(exist_ok=True)
    (DOCS / "api" / "index.rst").write_text("\n".join(lines), encoding="utf-8")


def setup(_app: Sphinx) -> None:
    """Write these pages before Sphinx looks for sources: autosummary reads only what it finds then."""
    write_commands()
    write_reference()
