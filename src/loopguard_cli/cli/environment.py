"""Environment variables that a person may set, besides the settings; for the manual and its test."""

from __future__ import annotations

VARIABLES = {
    "LOOPGUARD_STATE_DIR": (
        "Where the ledger is kept instead of .loopguard in the project; relative to the project."
    ),
    "LOOPGUARD_DEBUG": "If set, the traceback of an unexpected error is shown.",
    "LOOPGUARD_LOOPBACK": "If set, the bridge and other commands are talked to over loopback ports.",
    "NO_COLOR": "If set, output has no colours.",
    "XDG_CONFIG_HOME": "Where the user's settings file is looked for, instead of ~/.config.",
    "XDG_RUNTIME_DIR": "Where sockets and the register of live runs are.",
    "XDG_STATE_HOME": "Where crash reports are written, instead of ~/.local/state.",
}

INTERNAL = frozenset(
    {
        "LOOPGUARD_BRIDGE",
        "LOOPGUARD_MCP",
        "LOOPGUARD_NOTICE_TEXT",
        "LOOPGUARD_NOTICE_TITLE",
        "LOOPGUARD_NOTICE_TOPIC",
        "LOOPGUARD_RUN",
        "LOOPGUARD_SCRIPTED_MODEL",
        "LOOPGUARD_TRANSCRIPT",
    }
)
"""What we set ourselves in the processes we start; nothing to set by hand."""

SETTING_PATTERN = "LOOPGUARD_<SECTION>_<NAME>"
"""Any setting: its dotted name in capitals, with underscores for the dots."""

FILES = {
    "loopguard.toml": "Settings of a project, to be committed.",
    ".loopguard/config.toml": "One's own settings for a project; stronger than loopguard.toml.",
    "~/.config/loopguard/config.toml": "The user's settings for all projects.",
    ".loopguard/": "The state of a project: ledger and leases. Readable by its owner only.",
    "~/.local/state/loopguard/": "Crash reports.",
}
