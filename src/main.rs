//! Parses, reads the configuration, serves.

fn main() {}
