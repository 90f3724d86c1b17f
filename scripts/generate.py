"""Writes everything that follows from the code: completions, man pages, reference tables in docs/.

``make generate`` runs it; tests/packaging fails when what it would write is not what is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts import manpages, reference, schemas  # noqa: E402 - the folder of the project is not on the path

SHELLS = {
    "bash": "loopguard.bash",
    "zsh": "loopguard.zsh",
    "fish": "loopguard.fish",
    "powershell": "loopguard.ps1",
}

_ZSH_FIRST_TIME = """
# Where compinit loads this file on the first use, that use is to be answered too.
[[ ${zsh_eval_context[-1]} == loadautofunc ]] && _loopguard_completion "$@"
"""


def outputs() -> dict[str, str]:
    """Path below the project to text."""
    made = {f"completions/{file}": completion(shell) for shell, file in SHELLS.items()}
    made |= {f"man/{name}": text for name, text in manpages.pages().items()}
    made |= {f"docs/schemas/{name}.json": text for name, text in schemas.schemas().items()}
    made |= {path: reference.filled(ROOT / path) for path in reference.PAGES}
    return made


def completion(shell: str) -> str:
    """The script typer makes for a shell."""
    done = subprocess.run(
        [sys.executable, "-m", "loopguard_cli"],
        env={**os.environ, "_LOOPGUARD_COMPLETE": f"source_{shell}"},
        capture_output=True,
        check=True,
        text=True,
    )
    text = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines()) + "\n"
    return text + _ZSH_FIRST_TIME if shell == "zsh" else text


def main() -> None:
    made = outputs()
    for page in (ROOT / "man").glob("*.1"):
        if f"man/{page.name}" not in made:
            page.unlink()
            print(f"removed man/{page.name}")
    for path, text in made.items():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(f"written {path}")


if __name__ == "__main__":
    main()
