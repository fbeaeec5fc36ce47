//! Projects in a read-write Workspace.
