//! A stand-in for the workload of a sandbox: it dials from its first instant, answers whoever dials
//! it, and tells what a container sees of itself. Every line it prints is a [`line::Line`].
//!
//! From the bottom up: [`target`] is what can be dialled, [`outcome`] how a try ended and [`tally`]
//! the sum of many; [`dial`], [`get`] and [`serve`] do it; [`hardening`] reads the container; and
//! [`voice`] says it all without ever holding up who speaks.

pub mod dial;
pub mod dns;
pub mod echo;
pub mod flags;
pub mod get;
pub mod hardening;
pub mod line;
pub mod name;
pub mod open_files;
pub mod outcome;
pub mod pause;
pub mod run;
pub mod said;
pub mod serve;
pub mod signals;
pub mod tally;
pub mod target;
pub mod voice;
