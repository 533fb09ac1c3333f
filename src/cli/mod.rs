//! Command-line types, and the commands that talk to a running suite.
