//! Reservation and record of a key.
