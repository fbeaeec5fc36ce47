//! A person looks at an agent's files, and puts some in.
