"""A run inside a run: the inner one steps aside."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from loopguard_cli.runtime.processes import tree


def nested_in(environ: Mapping[str, str]) -> str:
    """The run this process is inside of, empty if none: a mark alone could be a leftover."""
    run, _, pid = environ.get(tree.MARK, "").rpartition(":")
    if not run or not pid.isdigit():
        return ""
    from loopguard_cli.runtime.processes.peers import descends

    return run if descends(os.getpid(), int(pid)) else ""


def replace_by(argv: Sequence[str]) -> None:
    """Become the agent, unsupervised by us. Raises OSError."""
    os.execvp(argv[0], list(argv))
