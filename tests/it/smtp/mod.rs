//! Mail as its clients meet it.

mod bounds;
mod clients;
mod commit;
mod in_mail;
mod leaving;
mod login;
mod mail_list;
mod session;
mod session_steps;
mod steps;
