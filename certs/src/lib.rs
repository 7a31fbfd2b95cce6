//! Serving certificates of the webhook: what to issue and when, where it is kept, how it is served.
//! The crate knows nothing of claims and holds no cluster client; only [`directory`] does I/O.
//!
//! ```text
//!            leader                                     every replica's controller
//!  Secret ─▶ Stored::from_data                          Secret ─▶ Stored::from_data ─┐
//!              │        StandingSince::observe ◀─ the configurations' caBundles ─▶ held_by_all
//!              ▼        (for how long each CA stands)                                  │
//!            plan(now, stored, names, standing)                          directory::next_files
//!              │ Plan                                                                │ TlsFiles
//!              ▼                                                                     ▼
//!            issue::carry_out ─▶ Stored ─▶ to_data ─▶ PUT Secret        TlsDirectory::write (if changed)
//!                                  │                                                 │ memory volume
//!                                  └─▶ bundle(now) ─▶ both caBundles                 ▼
//!                                                                       webhook: TlsDirectory::read
//!                                                                        ServingSet::parse ─▶ Resolver
//! ```
//!
//! A tick of the leader, in order (each call is safe to repeat, and wall-clock ticks of a minute or
//! less are enough):
//! 1. read every `caBundle` of both webhook configurations and call
//!    [`trust::StandingSince::observe`];
//! 2. then read the Secret into [`store::Stored`]; a missing Secret is `Stored::default()`;
//! 3. [`plan::plan`]; unless [`plan::Plan::is_nothing`], [`issue::carry_out`] and write the Secret
//!    (POST, or PUT with its `resourceVersion`; on a conflict start again at 1);
//! 4. apply [`store::Stored::bundle`] to every `caBundle`, unless the configuration changed since 1: the
//!    bundle of another replica may hold a CA that was not stored yet at 2.
//!
//! A CA is published before anything is signed with it, and stays published until it has expired;
//! so at any moment the leaf served is one that every API server can verify (X-012).

pub mod certificate;
pub mod directory;
pub mod issue;
pub mod plan;
pub mod resolver;
pub mod store;
pub mod trust;
