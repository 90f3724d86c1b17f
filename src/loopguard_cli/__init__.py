"""loopguard: a supervisor around coding agents.

The packages, in the order in which something travels through them:

``agents``   one adapter per coding agent: how to launch it, read it and steer it
``wire``     pure framing of bytes (lines, NDJSON, JSON-RPC, terminal text)
``core``     pure: events, effects, findings, the hub, policy, recovery
``detect``   pure: one module per family of loop detectors
``goal``     pure: the goal loop
``store``    ledger, lease and registry of runs on disk
``config``   settings with the origin of every value
``history``  readers of what agents leave on the machine about past sessions
``report``   one session as one page, from plain data
``runtime``  the asyncio shell of a live run: `reach` (sockets, hooks, pipes, pseudo-terminal),
             `processes`, `control` (commands from outside), `telling` (notices, telemetry)
``study``    looking back: traces and past sessions through the same guard
``cli``      the command line
``testing``  a scripted model server and scripted agents, shipped for adapter authors
"""

__version__ = "0.1.0"
