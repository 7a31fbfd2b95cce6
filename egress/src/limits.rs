//! What a client may hold, and for how long. Pure.

use std::time::Duration;

/// How addresses are tried (RFC 8305).
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The most addresses tried.
    pub most: usize,
    /// From one attempt to the next, while none has ended.
    pub between: Duration,
    /// The longest attempt.
    pub each: Duration,
    /// All of them together.
    pub all: Duration,
}

/// The bounds of everything a client or a server can hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections of clients at once, tunnels and what is about to become one.
    pub tunnels: usize,
    /// From accepting a connection to the end of its request's head, however its bytes come.
    pub head: Duration,
    /// From the tunnel to the end of the ClientHello, where one is asked for.
    pub hello: Duration,
    /// All questions to DNS for one request.
    pub resolve: Duration,
    /// How long the answer of the other family is waited for when one has a public address.
    pub second_family: Duration,
    /// How addresses are tried.
    pub dial: Pace,
    /// A tunnel through which nothing goes, either way.
    pub idle: Duration,
    /// The same, once one end has said that it is done.
    pub half_closed: Duration,
    /// How long a refused client has to read why.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tunnels: 1024,
            head: Duration::from_secs(10),
            hello: Duration::from_secs(10),
            resolve: Duration::from_secs(5),
            second_family: Duration::from_millis(50),
            dial: Pace {
                most: 8,
                between: Duration::from_millis(250),
                each: Duration::from_secs(3),
                all: Duration::from_secs(10),
            },
            idle: Duration::from_mins(15),
            half_closed: Duration::from_mins(1),
            farewell: Duration::from_secs(2),
        }
    }
}
