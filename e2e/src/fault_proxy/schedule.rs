//! Faults drawn from a seed. Keeps what it drew.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use http::{Method, StatusCode};

use super::{Asked, Fate, Fault, Question};

/// Spreads neighbouring numbers over all seeds (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Draws a fault for each request, by the seed and the request's number: with one seed, the same request
/// of the same kind at the same place in the order has the same fate.
#[derive(Debug)]
pub struct Schedule {
    seed: u64,
    began: Instant,
    asked: AtomicU64,
    calm: AtomicBool,
    drawn: Mutex<Vec<String>>,
}

impl Schedule {
    /// One that begins now.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            began: Instant::now(),
            asked: AtomicU64::new(0),
            calm: AtomicBool::new(false),
            drawn: Mutex::new(Vec::new()),
        }
    }

    /// From now on nothing happens to any request.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    /// What happened to which request, in order: `+1.204s GET /api/v1/pods: Lost`.
    pub fn drawn(&self) -> Vec<String> {
        self.drawn.lock().map(|it| it.clone()).unwrap_or_default()
    }
}

impl Fate for Schedule {
    fn fault(&self, asked: &Asked) -> Fault {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if self.calm.load(Ordering::SeqCst) {
            return Fault::None;
        }
        let mut rng = Rng::with_seed(self.seed ^ number.wrapping_mul(SPREAD));
        let fault = draw(&mut rng, asked);
        if fault != Fault::None
            && let Ok(mut drawn) = self.drawn.lock()
        {
            let at = self.began.elapsed().as_secs_f64();
            drawn.push(format!("+{at:.3}s {asked}: {fault:?}"));
        }
        fault
    }
}

fn draw(rng: &mut Rng, asked: &Asked) -> Fault {
    let percent = rng.u8(..100);
    match asked.question() {
        Question::Watch => match percent {
            0..10 => Fault::Refused(StatusCode::GONE),
            10..30 => Fault::CutAfter(within(rng, 100..3000)),
            30..60 => Fault::Lagging(within(rng, 20..800)),
            60..64 => Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            64..68 => Fault::Refused(StatusCode::TOO_MANY_REQUESTS),
            68..72 => Fault::Lost,
            _ => Fault::None,
        },
        Question::List => match percent {
            // A new leader counts claims by a list of its own, and an API server gives nobody an old one
            // who asks for the newest.
            0..25 if !asked.path.ends_with("/sandboxclaims") => Fault::Stale,
            25..35 => Fault::Late(within(rng, 20..1000)),
            35..40 => Fault::Lost,
            40..45 => Fault::Refused(StatusCode::SERVICE_UNAVAILABLE),
            _ => Fault::None,
        },
        Question::Read => match percent {
            0..5 => Fault::Late(within(rng, 20..500)),
            5..8 => Fault::Lost,
            8..11 => Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            11..13 => Fault::Refused(StatusCode::TOO_MANY_REQUESTS),
            _ => Fault::None,
        },
        Question::Write => match percent {
            0..8 => Fault::Late(within(rng, 20..600)),
            8..12 => Fault::Lost,
            12..18 => Fault::AnswerLost,
            18..23 => Fault::Twice,
            23..26 if asked.method != Method::POST => Fault::Refused(StatusCode::CONFLICT),
            26..28 => Fault::Refused(StatusCode::TOO_MANY_REQUESTS),
            28..30 => Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            30..32 => Fault::Refused(StatusCode::SERVICE_UNAVAILABLE),
            _ => Fault::None,
        },
        Question::Lease => match percent {
            0..4 => Fault::Late(within(rng, 20..1500)),
            4..6 => Fault::Lost,
            6..8 => Fault::AnswerLost,
            8..9 => Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            _ => Fault::None,
        },
    }
}

fn within(rng: &mut Rng, millis: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(rng.u64(millis))
}
