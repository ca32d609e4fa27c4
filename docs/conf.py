"""How the site is built: `make docs`; pages are MyST Markdown; their code runs during the build, where an error fails it."""

import os
import sys
from importlib.metadata import distribution
from importlib.metadata import version as installed_version
from pathlib import Path
from tempfile import mkdtemp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
# For the pages' code, which runs in kernels of its own: the command, the pages' pictures, and the width of what is printed
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH")]))
os.environ["COLUMNS"] = "96"
os.environ["TERM"] = "dumb"  # a bar that moves would leave each of its states on the page
# A warning on a page says what it is and not in which temporary file it arose
profile = Path(mkdtemp()) / "profile_default" / "startup" / "warnings.py"
profile.parent.mkdir(parents=True)
profile.write_text(
    "import sys, warnings\n"
    "def told(message, category, *place, **more):\n"
    "    print(f'{category.__name__}: {message}', file=sys.stderr)\n"
    "warnings.showwarning = told\n",
    encoding="utf-8",
)
(profile.parents[1] / "ipython_kernel_config.py").write_text(
    "c = get_config()\nc.IPKernelApp.log_level = 'ERROR'\n",  # each warns that it talks to this machine without encryption
    encoding="utf-8",
)
os.environ["IPYTHONDIR"] = str(profile.parents[2])

project = "copula-discrepancy"
author = "The copula-discrepancy developers"
project_copyright = author
version = release = installed_version("copula-discrepancy")

extensions = [
    "api_pages",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "jupyter_execute"]
nitpicky = True  # a name in the reference that leads nowhere is an error
nitpick_ignore_regex = [
    # Types of other libraries: their inventories lie on the network, and the build asks nothing of it
    (r"py:.*", r"(numpy|np|npt|scipy|pandas|pd|xarray|xr|matplotlib|joblib|typing|collections|pathlib|types|rich)\..*"),
    (r"py:.*", r"(ArrayLike|NDArray|FloatArray|Any|Self|Callable|Path|optional|array|draws|callable|object)"),
]

# ---- code that runs ------------------------------------------------------------------------------------------------
nb_execution_mode = "force"  # a page shows what this version of the library says, never what an old one said
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_execution_show_tb = True
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist", "substitution"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- reference -----------------------------------------------------------------------------------------------------
autosummary_generate = True
default_role = "name"  # of api_pages: `pairwise` in a docstring leads to its page, `theta` is set as code
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False

# ---- look ----------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "copula-discrepancy"
# MathJax is part of the site, which is read offline, too. SVG, because Firefox loads no fonts into pages opened as files
mathjax = Path(distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"))
mathjax_path = mathjax.name
mathjax3_config = {
    "options": {"enableMenu": False},  # most of the menu needs further files of MathJax
    "tex": {"packages": {"[-]": ["noundefined"]}},  # an unknown macro is an error, which check_formulas.py sees
}
html_static_path = ["_static", str(mathjax)]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("index", "start", "questions")}  # nothing lies below them: the text has the width
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "header_links_before_dropdown": 8,
}
if repository := os.environ.get("COPULA_DISCREPANCY_REPOSITORY"):  # as in hatch_build.py
    html_theme_options["github_url"] = repository
