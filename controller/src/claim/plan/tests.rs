//! Tests of the decision, on a claim whose API server is a few lines of Rust (`world`).

mod admission;
mod connections;
mod drift;
mod egress;
mod events;
mod finished;
mod gate;
mod idle;
mod kubelet;
mod laws;
mod life;
mod mounts;
mod previous;
mod proxy;
mod proxy_fixtures;
mod proxy_life;
mod proxy_strangers;
mod queue;
mod readiness;
mod refusals;
mod rendering;
mod reporting;
mod storage;
mod translation;
mod widening;
mod world;
