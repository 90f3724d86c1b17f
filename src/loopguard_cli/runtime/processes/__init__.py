"""Processes and the terminal: start, watch, suspend, end, and put right what they leave behind."""
