"""What is to serve the calls: ``file.py:function`` or a command, and which bytes that is."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

DIR = "{dir}"
"""Stands in a command for the folder of the case's files."""

_FUNCTION = re.compile(r"^(?P<file>.+\.py):(?P<function>[A-Za-z_]\w*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """A function in a file, or the words of a command; the other is empty."""

    text: str
    file: str = ""
    function: str = ""
    words: tuple[str, ...] = ()

    @property
    def is_command(self) -> bool:
        """Whether a program is run for each case."""
        return bool(self.words)

    def anywhere(self) -> str:
        """The same as a word of the command line that does not depend on the current folder, as far as files go."""
        if not self.is_command:
            return f"{self.file}:{self.function}"
        whole = [os.path.abspath(w) if DIR not in w and os.path.isfile(w) else w for w in self.words]
        return shlex.join(whole)


def parse(text: str) -> Source:
    """The source that a word of the command line names. Raises ValueError in one sentence."""
    match = _FUNCTION.match(text)
    if match is not None and DIR not in text:
        path = Path(match["file"])
        if not path.is_file():
            raise ValueError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
        return Source(text, str(path.resolve()), match["function"])
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"'{text}' cannot be read as a command: {error}") from None
    if not words or not any(DIR in word for word in words[1:]):
        raise ValueError(
            f"'{text}' is neither file.py:function nor a command with {DIR}, the folder of the case's files"
        )
    program = shutil.which(words[0])
    if program is None:
        raise ValueError(f"the command '{words[0]}' is not there, or cannot be executed")
    # A bare name was looked for in PATH: that very file is run, whatever PATH is later.
    return Source(text, words=(os.path.abspath(program), *words[1:]))


def served_by(source: Source) -> str:
    """The files behind a command, each with its sha256: the program and every word that names a file."""
    named = [word for word in source.words if DIR not in word and os.path.isfile(word)]
    return ", ".join(f"{os.path.abspath(word)} (sha256 {file_sha256(word)})" for word in named)


def file_sha256(path: str) -> str:
    """The hash of a file's bytes, ``?`` where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError:
        return "?"
    return digest.hexdigest()
