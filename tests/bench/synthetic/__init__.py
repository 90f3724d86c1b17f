"""Labelled traces made from a seed: loops and honest work that looks like loops, in own words.

Structures follow publicly reported cases; tools, arguments, outputs, pace and the work around are
drawn at random. `traces.generate` makes them; nothing of it is shipped.
"""
