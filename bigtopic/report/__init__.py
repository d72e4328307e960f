"""Reports about a model: a summary, as a table in the terminal or as one HTML page."""

from bigtopic.report.html import explorer_page, html_page, write_html
from bigtopic.report.live import LivePanel
from bigtopic.report.summary import Summary, Topic, summarise
from bigtopic.report.table import text_table

__all__ = [
    "LivePanel",
    "Summary",
    "Topic",
    "explorer_page",
    "html_page",
    "summarise",
    "text_table",
    "write_html",
]
