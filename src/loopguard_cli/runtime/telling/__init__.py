"""Telling a person, or a collector: lines on standard error, desktop notices, webhooks, telemetry."""
