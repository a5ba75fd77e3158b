"""How Sphinx reads the staged documents, and how the site looks. It works without a network."""

project = "Muster"
copyright = "the authors of Muster, Apache-2.0"  # noqa: A001 (what Sphinx calls it)
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3
nitpicky = True
smartquotes = False  # `--option` in a sentence is what is typed

html_theme = "furo"
html_title = "Muster"
html_static_path = ["static"]
html_css_files = ["muster.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5fbf",
        "color-brand-content": "#1f5fbf",
        "color-brand-visited": "#5b4bb0",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8ab4f8",
        "color-brand-content": "#8ab4f8",
        "color-brand-visited": "#b9a8ff",
    },
    "sidebar_hide_name": False,
    "navigation_with_keys": True,
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
