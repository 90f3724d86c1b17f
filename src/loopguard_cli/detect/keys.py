"""Call keys: when two tool calls are "the same".

Source: the infinity guard. Tool name and arguments compared as JSON with object keys sorted at
every depth; for shells the fields that only describe the call are left out, and the command string
stays exactly as it is. Nothing else is equal: not ``1`` and ``1.0``, not ``"x"`` and ``"x "``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from loopguard_cli.core.ids import CallKey

SHELLS = frozenset({"bash", "shell", "powershell", "run_shell_command"})
"""Tools (lower case) whose ``description`` and ``timeout`` change nothing about what is run."""

COSMETIC = frozenset({"description", "timeout"})

_SIZE = 10
"""Bytes of a digest: no accidental collision in any session of a lifetime."""

_encoder = msgspec.json.Encoder(order="sorted")


def digest(data: bytes) -> str:
    """Short hexadecimal digest of ``data``."""
    return blake2b(data, digest_size=_SIZE).hexdigest()


def canonical(value: Any) -> bytes:
    """``value`` as JSON with the keys of every object sorted."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Numbers beyond 64 bits and lone surrogates are legal in JSON all the same.
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr).encode()


def identifying(tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments that say what the call does."""
    if tool.lower() in SHELLS and not COSMETIC.isdisjoint(args):
        return {name: value for name, value in args.items() if name not in COSMETIC}
    return args


def call_form(tool: str, args: Mapping[str, Any]) -> bytes:
    """What a key is the digest of."""
    return canonical([tool, identifying(tool, args)])


def call_key(tool: str, args: Mapping[str, Any]) -> CallKey:
    """The key of one call."""
    return CallKey(digest(call_form(tool, args)))
