"""How others speak to a live run: the control socket, its client, and the MCP server for agents."""
