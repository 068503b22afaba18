def vendored(): pass
