"""The pure core: what flows in (events), what flows out (effects), and the hub between them.

Nothing here does I/O, reads a clock or keeps globals. Time goes in as ``now`` (seconds,
monotonic for the life of a run) and the next deadline comes out.
"""
