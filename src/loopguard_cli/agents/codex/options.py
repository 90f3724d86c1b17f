"""The command line of ``codex``: which form it asks for, and where its options go in the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

import msgspec

from loopguard_cli.agents import commandline

NAMES = ("codex",)
PACKAGES = ("@openai/codex",)


class Kind(StrEnum):
    EXEC = "exec"
    """One prompt, driven by us."""
    SCREEN = "screen"
    """The interactive program."""
    OTHER = "other"
    """Anything else, or something we cannot do in its place: started as it is."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    kind: Kind
    program: tuple[str, ...]
    """What starts the agent."""
    server: tuple[str, ...] = ()
    """Options that its server takes in the same words."""
    screen: tuple[str, ...] = ()
    """Everything behind the program that is left for the interactive program."""
    why: str = ""
    """With `Kind.OTHER`: the word that we cannot handle."""
    prompt: str = ""
    resume: str = ""
    """The thread to go on with."""
    resume_last: bool = False
    everywhere: bool = False
    """``--all``: the last one of any folder."""
    model: str = ""
    sandbox: str = ""
    approval: str = ""
    directory: str = ""
    json: bool = False
    ephemeral: bool = False
    skip_git: bool = False
    trusts_hooks: bool = False
    """The person lets every hook run."""
    images: tuple[str, ...] = ()
    add_dirs: tuple[str, ...] = ()
    """Folders that may be written to beside the one it works in."""
    schema: str = ""
    """A file with the shape of the last message."""
    last_message: str = ""
    """A file for the last message."""

    def thread(self, directory: str) -> dict[str, Any]:
        """Parameters for a new thread, or one that is resumed."""
        given: dict[str, Any] = {"cwd": self.folder(directory), "approvalPolicy": self.approval or "never"}
        if self.model:
            given["model"] = self.model
        if self.sandbox:
            given["sandbox"] = self.sandbox
        if self.add_dirs:
            given["runtimeWorkspaceRoots"] = self.folders(directory)
        if self.ephemeral and not self.resumes:
            given["ephemeral"] = True
        return given

    def folders(self, directory: str) -> list[str]:
        """Where it works, and where else it may write; empty: nothing was said about that."""
        more = [str(PurePosixPath(directory) / folder) for folder in self.add_dirs]
        return [self.folder(directory), *more] if more else []

    def folder(self, directory: str) -> str:
        """Where the agent works."""
        return str(PurePosixPath(directory) / self.directory)

    @property
    def resumes(self) -> bool:
        return bool(self.resume) or self.resume_last


_SERVER_VALUED = {"-c", "--config", "--enable", "--disable"}
_SERVER_FLAGS = {"--strict-config"}
_BYPASS = {"--dangerously-bypass-approvals-and-sandbox", "--yolo"}
_VALUED = {
    "-m": "model", "--model": "model",
    "-s": "sandbox", "--sandbox": "sandbox",
    "-a": "approval", "--ask-for-approval": "approval",
    "-C": "directory", "--cd": "directory",
    "-i": "images", "--image": "images",
    "--add-dir": "add_dirs",
    "--output-schema": "schema",
    "-o": "last_message", "--output-last-message": "last_message",
    "--color": "",
}  # fmt: skip
_FLAGS = {
    "--json": "json", "--experimental-json": "json",
    "--ephemeral": "ephemeral",
    "--skip-git-repo-check": "skip_git",
    "--last": "resume_last",
    "--all": "everywhere",
    "--dangerously-bypass-hook-trust": "trusts_hooks",
}  # fmt: skip
_SCREEN_VALUED = {*_SERVER_VALUED, *_VALUED, "-p", "--profile", "--local-provider"}
_ATTACHED = {"-m", "-s", "-a", "-C", "-c", "-i", "-o", "-p"}
_PLAIN = {"-h", "--help", "-V", "--version"}
_WORKING = {"agents", "app-server", "cloud", "exec-server", "mcp-server", "remote-control", "review"}
"""Commands that do, or serve, the work of an agent in ways of their own."""
_COMMANDS = {
    *_WORKING, "login", "logout", "mcp", "plugin",
    "completion", "update", "doctor", "sandbox", "debug", "apply", "a", "queue", "archive", "delete",
    "migrate-rollouts", "migrate-nfs-db", "unarchive", "features", "help",
}  # fmt: skip


def parse(argv: Sequence[str]) -> Options:
    """What ``argv`` asks for. Never fails: what is not understood is `Kind.OTHER`."""
    program, given = commandline.split(argv, commandline.named(NAMES, PACKAGES))
    words = list(_separated(given))
    if any(word in _PLAIN for word in given):
        return Options(kind=Kind.OTHER, program=program)
    before = commandline.words(words, _SCREEN_VALUED)
    first = next((word for word in before if not word.startswith("-")), "")
    if first in ("exec", "e"):
        at = words.index(first)
        return _exec(program, [*words[:at], *words[at + 1 :]])
    if first in _COMMANDS:
        return Options(kind=Kind.OTHER, program=program, why=first if first in _WORKING else "")
    return _screen(program, words)


def _exec(program: tuple[str, ...], words: list[str]) -> Options:
    server: list[str] = []
    fields: dict[str, Any] = {}
    images: list[str] = []
    add_dirs: list[str] = []
    free: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            free += rest
        elif word in _SERVER_VALUED:
            server += [word, next(rest, "")]
        elif word in _SERVER_FLAGS:
            server.append(word)
        elif word in _BYPASS:
            fields.update(sandbox="danger-full-access", approval="never", skip_git=True)
        elif word in _FLAGS:
            fields[_FLAGS[word]] = True
        elif word in _VALUED:
            value = next(rest, "")
            if _VALUED[word] == "images":
                images += value.split(",")
            elif _VALUED[word] == "add_dirs":
                add_dirs.append(value)
            else:
                fields[_VALUED[word]] = value
        elif word.startswith("-") and word != "-":
            return Options(kind=Kind.OTHER, program=program, why=f"exec {word}")
        else:
            free.append(word)
    if free[:1] == ["resume"]:
        free = free[1:]
        if not fields.get("resume_last"):
            fields["resume"] = free.pop(0) if free else ""
            if not fields["resume"]:
                return Options(kind=Kind.OTHER, program=program, why="exec resume")
    elif free[:1] in (["review"], ["fork"], ["help"]):
        return Options(kind=Kind.OTHER, program=program, why=f"exec {free[0]}")
    fields.pop("", None)
    prompt = free[0] if free and free[0] != "-" else ""
    return Options(
        kind=Kind.EXEC,
        program=program,
        server=tuple(server),
        prompt=prompt,
        images=tuple(images),
        add_dirs=tuple(add_dirs),
        **fields,
    )


def _screen(program: tuple[str, ...], words: list[str]) -> Options:
    """Settings go to the server, where the interactive program would not send them.

    With a server elsewhere it also takes no folders, and no permissions for a thread that exists: those
    are ours to add.
    """
    server: list[str] = []
    screen: list[str] = []
    fields: dict[str, Any] = {}
    free = [word for word in commandline.words(words, _SCREEN_VALUED) if not word.startswith("-")]
    again = free[:1] in (["resume"], ["fork"])
    rest = iter(words)
    for word in rest:
        if word == "--":
            screen += [word, *rest]
        elif word in _SERVER_VALUED:
            server += [word, next(rest, "")]
        elif word in _SERVER_FLAGS:
            server.append(word)
        elif word in ("--remote", "-p", "--profile"):
            # A server elsewhere is not ours to stand before, and ours takes no profiles.
            return Options(kind=Kind.OTHER, program=program, why=word)
        elif word == "--dangerously-bypass-hook-trust":
            fields["trusts_hooks"] = True
        elif word == "--no-daemon":
            continue
        elif word in ("-C", "--cd"):
            fields["directory"] = next(rest, "")
            screen += [word, fields["directory"]]
        elif word == "--add-dir":
            fields["add_dirs"] = (*fields.get("add_dirs", ()), next(rest, ""))
        elif again and _VALUED.get(word) in ("sandbox", "approval"):
            fields[_VALUED[word]] = next(rest, "")
        elif again and word in _BYPASS:
            fields["sandbox"], fields["approval"] = "danger-full-access", "never"
        elif word in _SCREEN_VALUED:
            screen += [word, next(rest, "")]
        else:
            screen.append(word)
    return Options(kind=Kind.SCREEN, program=program, server=tuple(server), screen=tuple(screen), **fields)


def _separated(words: Sequence[str]) -> Iterator[str]:
    """Options and their values as words of their own."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield word
            yield from rest
        elif word.startswith("--") and "=" in word:
            name, _, value = word.partition("=")
            yield name
            yield value
        elif word[:2] in _ATTACHED and len(word) > 2 and not word.startswith("--"):
            yield word[:2]
            yield word[2:].removeprefix("=")
        else:
            yield word
