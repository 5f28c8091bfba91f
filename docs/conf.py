"""The site: `make docs` builds it into docs/_build/html. Nothing here needs a network."""

import pathlib
import sys
import warnings

from sphinx.util import inspect

import adasadmm

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "adasadmm"
author = copyright = "The adasadmm developers"
version = release = adasadmm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "mathml",
    "report",
    "benchmark_pictures",
]
exclude_patterns = ["_build", "_templates", "tutorials"]
templates_path = ["_templates"]
today_fmt = "%Y-%m-%d"

# --- texts -----------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",  # pages written by programs begin where they like
]

# --- reference -------------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says what an argument is
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
viewcode_line_numbers = True

# --- gallery: every example and every tutorial is run ----------------------------------------------------------------

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")  # plt.show() at the end of an example


sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "tutorials"],
    "gallery_dirs": ["gallery", "generated/tutorials"],
    "filename_pattern": r"/plot_.*\.py",
    "within_subsection_order": "gallery.place",
    # plot_communities takes minutes: its figures are in estimators.md. Case studies need data: make cases runs them.
    "ignore_pattern": r"plot_communities\.py|case_\w+\.py|casebook\.py|casedata\.py|catalogue\.py",
    "reset_modules": ("gallery.clean_pictures",),
    "reset_modules_order": "before",
    "capture_repr": ("_repr_html_", "__repr__"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "doc_module": ("adasadmm",),
    "reference_url": {"adasadmm": None},
    "backreferences_dir": "generated/backreferences",
    "copyfile_regex": r".*\.rst",
    "write_computation_times": False,
}

# --- the look --------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"adasadmm {release}"
html_static_path = ["_static"]
html_css_files = ["own.css"]
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


OWN_PAGES = (adasadmm.solvers.Solver, adasadmm.solvers.Run)  # listed in api.rst


def skip_what_has_its_own_page(app, what, name, obj, skip, options):
    """`Hinge` is documented as `adasadmm.Hinge`: the page of a module omits objects that have their own page."""
    top_level = isinstance(obj, type) and getattr(adasadmm, name, None) is obj
    return True if top_level or (what == "module" and any(obj is own for own in OWN_PAGES)) else skip


def setup(app):
    inspect.is_singledispatch_function = lambda _: False  # one signature for a generic function, not one for each class
    app.connect("autodoc-skip-member", skip_what_has_its_own_page)
