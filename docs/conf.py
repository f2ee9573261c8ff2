"""The manual's configuration for Sphinx: ``sphinx-build -W docs docs/_build``.

Pages are Markdown (MyST). A cell of code runs when the site is built (myst-nb), a `query` directive
is answered by cerlab itself, and the notebooks are run and shown as they stand: what a page shows
is what the code beside it gives.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from extensions.spelling import split  # noqa: E402
from sphinx.search.en import SearchEnglish  # noqa: E402

import cerlab  # noqa: E402

# Words that patterns are about, and that the search leaves out of English.
SearchEnglish.stopwords -= {"not", "between", "before", "after", "until", "once", "same", "why"}
SearchEnglish.split = split  # type: ignore[method-assign]

project = "cerlab"
author = "the cerlab authors"
project_copyright = author
version = release = cerlab.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "extensions.imports",
    "extensions.query",
    "extensions.railroad",
    "extensions.reference",
]
exclude_patterns = ["_build", "extensions", "course/README.md"]  # course: the notebooks, by a link
templates_path: list[str] = []
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_js_files = [("theme.js", {"defer": "defer"})]
html_search_scorer = str(HERE / "extensions" / "scorer.js")
html_theme = "furo"
html_title = "cerlab"
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # messages and options are copied as they stand
default_role = "code"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "cells")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_output_stderr = "warn"
nb_merge_streams = True
# Live widgets need a network; the frame that a stepper has beside its widget does not.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
suppress_warnings = ["myst.header"]  # notebooks begin sections at any depth

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
