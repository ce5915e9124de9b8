"""The templates of pages. Values are escaped, unless they are Markup."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.report import harmless
from common import pages
from instructor.grading.text import line, moment, percent, points


def _plain(value):
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


HTML = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    finalize=_plain,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
HTML.globals["colors"] = Markup(pages.COLORS)
HTML.filters.update(line=line, moment=moment, points=points, percent=percent)
