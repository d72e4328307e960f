"""Pictures of models: one plot per file of this folder.

A file whose name does not begin with an underscore defines `PLOT`, a `bigtopic.plots.Plot`, whose name is the file's
with hyphens. To add a plot, add a file. matplotlib, of the extra `plots`, is imported when a plot is drawn.
"""

from bigtopic.plots._base import Plot, draw, load, names
from bigtopic.plots._save import FORMATS, check_path, encode, save
from bigtopic.plots._style import ACCENT, AS_IT_IS, BAR, bare, heading, label, largest, leading_words, resize

__all__ = [
    "ACCENT",
    "AS_IT_IS",
    "BAR",
    "FORMATS",
    "Plot",
    "bare",
    "check_path",
    "draw",
    "encode",
    "heading",
    "label",
    "largest",
    "leading_words",
    "load",
    "names",
    "resize",
    "save",
]
