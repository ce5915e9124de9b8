"""The two kinds of templates: HTML and Markdown. Values are escaped for the kind of page, unless
they are Markup.
"""

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.report import harmless
from common import charts
from instructor.grading.text import line, markdown, percent, points


def fence(text: str) -> Markup:
    """Text of several lines as a code block that nothing in it can close."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return Markup(f"{marks}\n{harmless(text)}\n{marks}")


def _environment(escape_html, finalize):
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=escape_html,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["chart_css"] = Markup(charts.CSS)
    environment.filters.update(line=line, points=points, percent=percent, fence=fence)
    return environment


def _plain(value):
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _marked(value):
    return markdown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


HTML = _environment(True, _plain)
MARKDOWN = _environment(False, _marked)
