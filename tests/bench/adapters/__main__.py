"""Measure some agents only, and print the table."""

from __future__ import annotations

import argparse
import sys

from tests.bench import adapters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*adapters.NAMES, []], metavar="NAME")
    sys.stdout.write(adapters.body(parser.parse_args().names or adapters.NAMES) + "\n")


if __name__ == "__main__":
    main()
