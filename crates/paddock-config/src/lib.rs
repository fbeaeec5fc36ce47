//! paddock.toml: parsing with spans, schema, reloading, building Workspaces from Mounts.
