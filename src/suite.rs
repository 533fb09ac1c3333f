//! The front door: builder, running suite, addresses, stop.
