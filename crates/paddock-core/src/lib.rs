//! The domain: logical paths, Access Scopes, Workspaces, the guarded Vfs and its ports.
