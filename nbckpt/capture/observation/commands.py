"""Command lines of child processes: the files, folders and patterns that their words name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import FrameType
from typing import NamedTuple

from nbckpt.capture.observation.folder_looks import EntriesOf, matches_of
from nbckpt.text.secret_texts import redacted

MAX_WORDS = 2_000
"""Words of one command line to look for on the disk."""

MAX_LINE = 100_000
"""Characters of a line that is read as a shell reads it."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_LISTS = frozenset({"ls", "dir", "vdir", "find", "tree", "du", "fd", "fdfind", "rg", "ag"})
"""Programs that tell of the working folder where no other is named."""

_DEEP = frozenset(
    {"find", "tree", "du", "fd", "fdfind", "rg", "ag", "tar", "zip", "rsync", "pytest"}
)
_NAMES_ONLY = frozenset({"ls", "dir", "vdir", "find", "tree", "fd", "fdfind"})
"""Programs that tell of names, if nothing else is asked for."""

_DEEP_LETTERS = {"ls": "R", "dir": "R", "vdir": "R", "grep": "rR", "egrep": "rR", "fgrep": "rR"}
_DEEP_LETTERS |= {"cp": "rRa", "scp": "r", "diff": "rR"}
_TELLS_LETTERS = {"ls": "lstScukgon", "dir": "l", "vdir": "", "tree": "shDpt"}
_FIND_TELLS = frozenset(
    {
        *("-size", "-newer", "-anewer", "-cnewer", "-mtime", "-mmin", "-ctime", "-cmin", "-atime"),
        *("-amin", "-empty", "-ls", "-fls", "-printf", "-fprintf", "-exec", "-execdir", "-ok"),
        *("-newermt", "-perm"),
    }
)
_MAKES = frozenset(
    {
        *("mkdir", "rmdir", "rm", "mv", "touch", "chmod", "chown", "ln", "cd", "pushd", "install"),
        *("echo", "printf", "test", "[", "[[", "export", "pip", "git", "unzip", "curl", "wget"),
    }
)
"""Programs that do not tell of the names in a folder that they are given."""

_ABSENT = frozenset(
    {
        *("cat", "head", "tail", "wc", "ls", "rm", "rmdir", "mv", "test", "[", "[[", "sort"),
        *("uniq", "cut", "grep", "diff", "cmp", "md5sum", "sha256sum", "stat", "file", "find"),
        *("du", "cp", "mkdir", "source", ".", "python", "python3", "bash", "sh", "nl", "tac"),
    }
)
"""Programs that say or do something else where a file that they name is not there."""

_PATTERN_FIRST = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "jq", "tr"})
_LEADS = frozenset(
    {
        *("sudo", "time", "nohup", "env", "command", "exec", "nice", "xargs", "do", "then"),
        *("else", "if", "elif", "while", "until", "!", "{", "for", "select", "case"),
    }
)
_TOKEN = re.compile(
    r"""(?P<redirected>\d*>&[\d-]|\d*>[>|]?|&>>?|<+)|(?P<ends>\n|;+|\|\|?|&&?|[()`])|"""
    r"""(?P<word>(?:[^\s'"\\;|&<>()`]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.DOTALL,
)
_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_WILD = re.compile(r"[*?\[]")


class _Word(NamedTuple):
    text: str
    is_pattern: bool = False


@dataclass
class Asked:
    """Files and folders that command lines name, as they are on the disk now.

    Attributes
    ----------
    files
        Files, and paths at which nothing is where that is an answer.
    listed
        Folders of which the names count, but for hidden ones.
    looks
        Folders of which more counts; files of which the time does.
    patterns
        As a shell expands them.
    """

    files: dict[str, None] = field(default_factory=dict)
    listed: dict[str, None] = field(default_factory=dict)
    looks: dict[tuple[EntriesOf, str], None] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)

    def words(self, words: Sequence[object], folder: str) -> None:
        """Take in a command with its arguments, or a line alone, that runs in a folder."""
        texts = [text for word in words if (text := _text_of(word)) is not None][:MAX_WORDS]
        if len(texts) == 1 and len(words) == 1:
            self.line(texts[0], folder)
        elif texts:
            is_line = _name_of(texts[0]) in _SHELLS and len(texts) > 2
            if is_line and re.fullmatch(r"-\w*c", texts[1]):
                self.line(texts[2], folder)
            else:
                self._command([_Word(text) for text in texts], folder)

    def line(self, line: str, folder: str, depth: int = 0) -> None:
        """Take in what a shell would run."""
        command: list[_Word] = []
        for match in _TOKEN.finditer(line[:MAX_LINE]):
            raw = match["word"]
            if raw is not None:
                command.append(_word(raw))
                if depth < 3 and raw[0] != "'" and '"' in raw and ("$(" in raw or "`" in raw):
                    for inner in re.split(r"\$\(|`", raw.strip('"'))[1:]:
                        self.line(inner.rpartition(")")[0] or inner, folder, depth + 1)
            elif match["ends"]:
                folder = self._command(command, folder)
                command = []
        self._command(command, folder)

    def _command(self, command: list[_Word], folder: str) -> str:
        """One command; the folder in which the next one runs."""
        while command and (command[0].text in _LEADS or re.match(r"\w+=", command[0].text)):
            command = command[1:]
        if not command:
            return folder
        program, args = _name_of(command[0].text), command[1:]
        if program in ("cd", "pushd") and args:
            whole = _joined(folder, args[0].text)
            return whole if os.path.isdir(whole) else folder  # noqa: PTH112  # texts
        options = [arg.text for arg in args if arg.text[:1] == "-"]
        named = list(_named(program, args))
        self._name(program, options, named, folder)
        if program in _LISTS or (program in _DEEP_LETTERS and _is_deep(program, options)):
            is_given = len(named) > (program in _PATTERN_FIRST and bool(named))
            if not is_given and program not in ("cp", "scp", "diff"):
                self._folder(folder, program, options)
        if os.path.isfile(whole := _joined(folder, command[0].text)):  # noqa: PTH113
            self.files[whole] = None
        return folder

    def _name(self, program: str, options: list[str], named: list[_Word], folder: str) -> None:
        for place, word in enumerate(named[:MAX_WORDS]):
            if program in _PATTERN_FIRST and place == 0 and len(named) > 1:
                continue
            if not word.text or "\0" in word.text or len(word.text) > 1_000:
                continue
            if word.is_pattern:
                pattern = _joined(folder, word.text)
                matches = list(matches_of(pattern))
                if matches or not _holds_secret(pattern):
                    self.patterns[pattern] = None
                for match in matches:
                    self._path(match, program, options)
            else:
                self._path(_joined(folder, word.text), program, options)

    def _path(self, path: str, program: str, options: list[str]) -> None:
        if os.path.isdir(path):  # noqa: PTH112  # texts all the way
            if program not in _MAKES:
                self._folder(path, program, options)
        elif os.path.exists(path):  # noqa: PTH110  # texts all the way
            self.files[path] = None
            if program in ("stat", "date", "make") or _tells(program, options):
                self.looks["time", path] = None
        elif program in _ABSENT and not _holds_secret(path):
            self.files[path] = None

    def _folder(self, path: str, program: str, options: list[str]) -> None:
        is_deep, tells = _is_deep(program, options), _tells(program, options)
        if program == "du":
            self.looks["all sizes", path] = None
        elif is_deep:
            is_named_only = program in _NAMES_ONLY and not tells
            self.looks["all names" if is_named_only else "all times", path] = None
        elif tells or program == "stat":
            self.looks["times", path] = None
        elif any(word[:2] != "--" and not {"a", "A", "f"}.isdisjoint(word) for word in options):
            self.looks["names", path] = None
        else:
            self.listed[path] = None


def _holds_secret(path: str) -> bool:
    """True if a word that names no file is given to a command to be kept from others."""
    return redacted(path) != path


def terminal_of(frame: FrameType | None) -> tuple[object, object]:
    """The command and the folder of what `pexpect` starts in a terminal, as IPython's `!` does."""
    for _ in range(4):
        if frame is None:
            break
        if str(frame.f_globals.get("__name__", "")).startswith("ptyprocess."):
            known = frame.f_locals
            return known.get("argv", ()), known.get("cwd")
        frame = frame.f_back
    return (), None


def _named(program: str, args: list[_Word]) -> Iterator[_Word]:
    """The words that may be paths."""
    for place, word in enumerate(args):
        if word.text[:1] == "-":
            if program == "find":
                rest = args[place + 1 :]
                yield from (w for w in rest if not w.is_pattern and "/" in w.text)
                return
            value = word.text.partition("=")[2]
            if value:
                yield _Word(value, word.is_pattern)
        elif program == "find" and word.text in ("(", "!", "\\("):
            return
        elif not (word.text.isdigit() and place and args[place - 1].text[:1] == "-"):
            yield word


def _is_deep(program: str, options: list[str]) -> bool:
    letters = _DEEP_LETTERS.get(program, "")
    return (
        program in _DEEP
        or any(_has(word, letters) for word in options)
        or (any(word in ("--recursive", "--archive") for word in options))
    )


def _tells(program: str, options: list[str]) -> bool:
    """True if more is told of an entry of a folder than its name."""
    if program == "find":
        return not _FIND_TELLS.isdisjoint(options)
    is_long = program == "vdir" or (
        program in _TELLS_LETTERS and any(word.startswith(("--sort", "--full")) for word in options)
    )
    return is_long or any(_has(word, _TELLS_LETTERS.get(program, "")) for word in options)


def _has(option: str, letters: str) -> bool:
    return option[:2] != "--" and not set(letters).isdisjoint(option)


def _word(raw: str) -> _Word:
    is_pattern = _WILD.search(_QUOTED.sub("", raw)) is not None
    plain = _QUOTED.sub(lambda match: next(g for g in match.groups() if g is not None), raw)
    if raw[0] != "'" and ("$" in plain or plain[0:1] == "~"):
        plain = os.path.expandvars(os.path.expanduser(plain))  # noqa: PTH111  # texts all the way
    return _Word(plain, is_pattern)


def _name_of(program: str) -> str:
    return program.rpartition("/")[2]


def _joined(folder: str, text: str) -> str:
    return os.path.normpath(os.path.join(folder, text))  # noqa: PTH118  # texts all the way


def _text_of(word: object) -> str | None:
    if isinstance(word, bytes):
        return os.fsdecode(word)
    if isinstance(word, str):
        return str.__str__(word)  # not that of a class of the user's
    return os.fspath(word) if isinstance(word, PurePath) else None
