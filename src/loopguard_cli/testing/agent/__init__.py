"""A small coding agent that stands in for ``opencode run`` where OpenCode is not installed.

It asks a scripted model, runs its shell calls, keeps its sessions in a folder and speaks the protocol
of our bridge, with OpenCode's own event shapes, so that everything from the socket on is the real
thing. It ends when its turn ends, is aborted with status 1, and goes on in a session by ``--session``.
"""
