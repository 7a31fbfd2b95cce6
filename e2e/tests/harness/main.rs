//! The harness itself: that the fake node, the sentences and the identities do what the tests built on
//! them take for granted.

mod fake_node;
mod identities;
mod own_installation;
