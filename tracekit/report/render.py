"""Documents as HTML and as Markdown: everything that is not the template's own is escaped."""

import re

import jinja2
from markupsafe import Markup

from tracekit.cli.table import visible
from tracekit.colors import groups
from tracekit.report.document import Document

_MARKED = re.compile(r"[\\`*_{}\[\]<>#|~&$!@]|(?<=\w):(?=/)|(?<=www)\.")
"""What GitHub's Markdown would take for markup, or make a link of."""


def html(document: Document) -> str:
    """One page without scripts that loads nothing: styles and charts are in it."""
    return _written("report.html.jinja", document, _shown)


def markdown(document: Document) -> str:
    """The same tables as GitHub shows them; no charts."""
    return _written("report.md.jinja", document, _marked)


def _written(template: str, document: Document, finalize: object) -> str:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("tracekit.report"),
        autoescape=True,
        finalize=finalize,  # type: ignore[arg-type]
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return env.get_template(template).render(document=document, groups=groups())


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value


def _marked(value: object) -> object:
    if type(value) is not str:  # a number, or what a macro wrote
        return value
    return Markup(_MARKED.sub(r"\\\g<0>", visible(value)))
