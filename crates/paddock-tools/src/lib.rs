//! The tool catalogue, the synthesizer, the Filesystem Map, the tool-call boundary and the middleware.
