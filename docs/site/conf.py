# SPDX-License-Identifier: LGPL-2.1-or-later
# The configuration of Sphinx for the site of the documents; make-site calls it with the version.

project = "dvm"
copyright = "the dvm authors"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
# Code without a language is a terminal's, or a file's of its own kind.
highlight_language = "none"
# Quotation marks and hyphens of messages and options are to be typed as they stand.
smartquotes = False
html_theme = "alabaster"
html_theme_options = {"description": "a distributed virtual machine for parallel jobs", "page_width": "1180px", "body_max_width": "none", "sidebar_width": "230px",
                      "code_font_size": "0.8em", "fixed_sidebar": False, "sidebar_collapse": True}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_use_index = False
