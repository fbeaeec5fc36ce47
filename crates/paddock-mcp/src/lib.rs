//! MCP over stdio for any agent.
