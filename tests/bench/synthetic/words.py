"""Words to draw from: files, symbols, sentences, outputs."""

from __future__ import annotations

from random import Random

FOLDERS = (
    "src", "lib", "core", "app", "pkg", "internal", "server", "web", "tools", "cmd",
    "crates/net", "services/api",
)  # fmt: skip
NAMES = (
    "cache", "router", "parser", "ledger", "session", "store", "queue", "mailer", "auth", "config",
    "schema", "report", "planner", "codec",
)  # fmt: skip
ENDINGS = (
    "py", "ts", "tsx", "go", "rs", "java", "rb", "kt", "cpp", "cs",
)  # fmt: skip
SYMBOLS = (
    "load_page", "retry_limit", "open_stream", "TokenBucket", "flush_queue", "parse_header",
    "UserRow", "make_index", "bind_port", "render_cell", "FrameReader", "merge_rows", "next_slot",
    "decode_name", "close_pool", "RateTable", "write_chunk", "find_owner",
)  # fmt: skip
TASKS = (
    "The nightly import drops rows, find out why and fix it.",
    "Add a retry limit to the mailer and cover it with tests.",
    "Move the settings page to the new form components.",
    "Users report that sorting by date is wrong; please fix.",
    "Bring the parser up to the new grammar and clean up after it.",
    "Make the build pass again.",
)
REMARKS = (
    "The row count is off by one at the page border.",
    "So the limit is read before the file is parsed.",
    "Only the second caller passes an owner.",
    "This helper is used in three places.",
    "The fixture does not cover the empty case.",
    "The flag is never set on this path.",
    "The cache is keyed by name, not by id.",
    "Next the caller, then the test.",
    "The header is decoded twice.",
    "The old name is still exported here.",
    "Good, the types agree now.",
    "The timeout comes from the defaults file.",
)
_CODE = (
    "def {s}(self, rows):", "    return {s}(rows[{n}:])", "if not {s}:", "    raise ValueError({n})",
    "for row in {s}():", "const {s} = {n};", "export function {s}(a, b) {{", "}}",
    "pub fn {s}() -> usize {{ {n} }}",
    "    total += {s}.size", "# {s} comes first", "let {s} = open({n})?;", "assert {s}({n}) == {n}",
)  # fmt: skip


def path(rng: Random) -> str:
    return f"{rng.choice(FOLDERS)}/{rng.choice(NAMES)}_{rng.randrange(900)}.{rng.choice(ENDINGS)}"


def symbol(rng: Random) -> str:
    return f"{rng.choice(SYMBOLS)}{rng.choice(['', '_v2', 'All', str(rng.randrange(20))])}"


def code(rng: Random, lines: int) -> list[str]:
    return [rng.choice(_CODE).format(s=symbol(rng), n=rng.randrange(200)) for _ in range(lines)]


def numbered(lines: list[str], start: int, style: str) -> str:
    """File content as different tools show it."""
    if style == "arrow":
        return "\n".join(f"{start + at:6d}→{line}" for at, line in enumerate(lines))
    if style == "pipe":
        return "\n".join(f"{start + at:05d}| {line}" for at, line in enumerate(lines))
    if style == "cat":
        return "\n".join(f"{start + at:6d}\t{line}" for at, line in enumerate(lines))
    return "\n".join(lines)


def hexadecimal(rng: Random, digits: int = 8) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(digits))


def uuid(rng: Random) -> str:
    return "-".join(hexadecimal(rng, digits) for digits in (8, 4, 4, 4, 12))
