"""loopguard: a supervisor around coding agents.

The packages, in the order in which something travels through them:

``agents``   one adapter per coding agent: how to launch it, read it and steer it
``wire``     pure framing of bytes (lines, NDJSON, JSON-RPC, terminal text)
``core``     pure: events, effects, findings, the hub, policy, recovery
``detect``   pure: one module per family of loop detectors
``goal``     pure: the goal loop
``store``    ledger, lease and registry of runs on disk
``config``   settings with the origin of every value
``history``  readers of the session histories that agents leave on a machine
``runtime``  the asyncio shell: processes, sockets, terminal, clock
``cli``      the command line
``testing``  a scripted model server and scripted agents, shipped for adapter authors
"""

__version__ = "0.1.0"
