//! Reading a body under limits of size, time and number. Does network I/O.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::{BIG_BODIES, LARGEST, MIDDLING_BODIES, SMALL, TINY};

/// What is still read, and thrown away, of a body that is too large: a client that is cut off while
/// sending may never see the answer.
const PATIENCE: usize = 32 * 1024 * 1024;

/// Bounds how many bodies of a size may be in memory at once, so that no crowd of clients can fill it.
#[derive(Clone)]
pub(super) struct Room {
    middling: Arc<Semaphore>,
    big: Arc<Semaphore>,
}

impl Room {
    pub fn new() -> Self {
        Self {
            middling: Arc::new(Semaphore::new(MIDDLING_BODIES)),
            big: Arc::new(Semaphore::new(BIG_BODIES)),
        }
    }
}

/// A place in the [`Room`], given back when dropped.
pub(super) struct Place {
    /// Whether the body is over [`SMALL`].
    pub big: bool,
    _permit: OwnedSemaphorePermit,
}

/// What came.
pub(super) enum Read {
    /// The whole body; one over `TINY` holds its place.
    Whole {
        bytes: Vec<u8>,
        place: Option<Place>,
    },
    /// More than `LARGEST`.
    TooLarge { prefix: Vec<u8> },
}

/// Why there is no body to judge.
pub(super) enum Trouble {
    /// Too many bodies of this size at once, until the deadline.
    Busy { prefix: Vec<u8> },
    /// The client did not send it in time.
    Slow,
    /// The connection or its framing failed.
    Broken,
}

/// Reads `body` until `deadline`, with a place in `room` once it is no longer tiny.
pub(super) async fn read(
    mut body: Incoming,
    room: &Room,
    deadline: Instant,
) -> Result<Read, Trouble> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(announced.min(TINY));
    let mut place: Option<Place> = None;
    while let Some(piece) = next(&mut body, deadline).await? {
        let size = bytes.len() + piece.len();
        let big = size > SMALL;
        if size > TINY && place.as_ref().is_none_or(|place| big && !place.big) {
            let (places, most) = if big {
                (&room.big, LARGEST)
            } else {
                (&room.middling, SMALL)
            };
            // The smaller place is kept until the larger one is had: until then it is still needed.
            let permit = timeout_at(deadline, Arc::clone(places).acquire_owned()).await;
            let Ok(Ok(permit)) = permit else {
                return Err(Trouble::Busy { prefix: bytes });
            };
            place = Some(Place {
                big,
                _permit: permit,
            });
            // Once, rather than by doubling through every size on the way.
            bytes.reserve_exact(announced.min(most).saturating_sub(bytes.len()));
        }
        if size > LARGEST {
            bytes.truncate(SMALL);
            bytes.shrink_to_fit();
            discard(&mut body, deadline).await;
            return Ok(Read::TooLarge { prefix: bytes });
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Read::Whole { bytes, place })
}

/// Reads on to the body's end, as far as patience and deadline reach.
async fn discard(body: &mut Incoming, deadline: Instant) {
    let mut discarded = 0;
    while let Ok(Some(piece)) = next(body, deadline).await {
        discarded += piece.len();
        if discarded > PATIENCE {
            return;
        }
    }
}

async fn next(body: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, Trouble> {
    loop {
        match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(Trouble::Slow),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(Trouble::Broken),
            // Anything but data is a trailer, which nobody asked for.
            Ok(Some(Ok(frame))) => {
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}
