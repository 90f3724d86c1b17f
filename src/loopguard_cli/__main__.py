"""``python -m loopguard_cli`` and the ``loopguard`` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the process exits with the command's status."""
    from loopguard_cli.cli.app import run

    run()


if __name__ == "__main__":
    main()
