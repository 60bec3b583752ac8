"""Making other people's text (names of files and cases, what operators print) safe in each report format."""

from __future__ import annotations

import json
import re
from typing import IO

from ascend_opcli.errors import UNSEEN, one_line, visible

__all__ = [
    "bare",
    "fenced",
    "in_json",
    "in_line",
    "markdown",
    "markdown_code",
    "one_line",
    "visible",
    "xml",
    "xml_content",
]

_UNSEEN = re.compile(f"[{UNSEEN}]")


def bare(stream: IO[str]) -> IO[str]:
    """The stream for lines with colours in them, which the command line's own would show as escapes."""
    found: IO[str] = getattr(stream, "bare", stream)
    return found


def in_json(text: str) -> str:
    """JSON with what would not be seen in its strings as escapes of JSON."""
    return _UNSEEN.sub(lambda m: f"\\u{ord(m[0]):04x}" if m[0] <= "\uffff" else json.dumps(m[0])[1:-1], text)


def in_line(text: str) -> str:
    """A name, or a path, on one line, every blank kept."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def xml(text: str) -> str:
    """Text as the content of an XML or HTML element, or of an attribute in double quotes."""
    text = visible(text)
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
        # A newline in an attribute would be read as a space.
        .replace("\t", "&#9;").replace("\n", "&#10;")
    )  # fmt: skip


def xml_content(text: str) -> str:
    """Text as the content of an element, its line breaks as they are."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# What Markdown could take for its own. A dollar begins a formula even behind a backslash, and an underscore
# within a word is an underscore.
_MARKDOWN = re.compile(r"[\\`*\[\]|~<>&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_REFERENCES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;"}
# @name and #12 address people and threads; an empty comment keeps them from doing so and shows nothing.
_ADDRESS = re.compile(r"(?<=@)(?=\w)|(?<=(?<!&)#)(?=\w)")


def _markdown(line: str) -> str:
    return _MARKDOWN.sub(lambda m: _REFERENCES.get(m[0], f"\\{m[0]}"), line)


def markdown(text: str, limit: int | None = None) -> str:
    """Text as one line of Markdown, also inside a table."""
    return _ADDRESS.sub("<!-- -->", _markdown(one_line(text, limit)))


def markdown_code(text: str, limit: int | None = None) -> str:
    """Text in the type of code, as one line: nobody is addressed by what stands in it."""
    return f"<code>{_markdown(one_line(text, limit))}</code>"


def fenced(text: str, language: str = "text") -> str:
    """Text as a block of code, in a fence that is longer than any in it."""
    safe = visible(text).rstrip("\n")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{safe}\n{fence}\n"
