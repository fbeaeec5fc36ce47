//! The System Root and the WorkspaceId.
