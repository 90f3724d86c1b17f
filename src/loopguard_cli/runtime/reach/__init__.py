"""The ways to reach an agent: sockets to bridges, hooks, pipes, a pseudo-terminal.

One module per way, as `agents.base` names them; `channels` is the one way out to all of them.
"""
