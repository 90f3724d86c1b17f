"""Runs goal scenarios and tables from JSON files against the real goal loop, with a virtual clock.

The format is described in ``tests/scenarios/README.md``. ``python -m loopguard_cli.testing.scenarios
DIR`` runs every file of a folder.
"""
