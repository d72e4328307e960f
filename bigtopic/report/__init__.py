"""Reports about a model: a summary, as a table in the terminal or as one HTML page."""

from bigtopic.report.html import html_page, write_html
from bigtopic.report.summary import Summary, Topic, summarise
from bigtopic.report.table import text_table

__all__ = ["Summary", "Topic", "html_page", "summarise", "text_table", "write_html"]
