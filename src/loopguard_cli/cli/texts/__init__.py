"""Texts that ``loopguard install-skill`` writes."""
