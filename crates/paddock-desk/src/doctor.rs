//! What could keep Paddock from working here.
