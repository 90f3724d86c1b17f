"""Looking back: traces, past sessions and recordings through the guard, without any agent.

Reads files and puts their events through the same hub or judge as a live run (`replay`, `hindsight`);
behind ``loopguard replay``, ``eval``, ``scan`` and ``report``.
"""
