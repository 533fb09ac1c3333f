//! From flags, environment and file to one validated value.
