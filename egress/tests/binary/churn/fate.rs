//! What befalls a tunnel, drawn from a seed. Pure.

/// Who is always on the allowlist.
pub const KEPT: &str = "kept.example";
/// Who is on it and off it.
pub const COMING_AND_GOING: &str = "coming-and-going.example";

/// What comes before the bytes of a tunnel: how many the server takes before it breaks off, and how many
/// there are.
pub const HEADER: usize = 8;

/// How a tunnel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both ends get all there is.
    Whole,
    /// The client breaks it off when it has sent so many bytes.
    Client(usize),
    /// The server does when it has got so many.
    Server(usize),
}

/// One tunnel.
#[derive(Debug)]
pub struct Fate {
    pub host: &'static str,
    pub end: End,
    pub bytes: Vec<u8>,
}

impl Fate {
    /// That of tunnel `number`, the same for every run with `seed`.
    pub fn draw(seed: u64, number: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ (u64::try_from(number).unwrap() << 32));
        let length = if random.u8(..) < 3 {
            random.usize(100_000..400_000)
        } else {
            random.usize(2..4000)
        };
        let mut bytes = vec![0; length];
        random.fill(&mut bytes);
        let end = match random.u8(..20) {
            0 => End::Client(random.usize(..length)),
            1 => End::Server(random.usize(1..=length)),
            _ => End::Whole,
        };
        let host = if random.u8(..10) == 0 {
            COMING_AND_GOING
        } else {
            KEPT
        };
        Self { host, end, bytes }
    }

    /// That of a tunnel that nobody breaks off.
    pub fn whole(bytes: &[u8]) -> Self {
        Self {
            host: KEPT,
            end: End::Whole,
            bytes: bytes.to_owned(),
        }
    }

    /// What the server has to know.
    pub fn header(&self) -> [u8; HEADER] {
        let broken_after = match self.end {
            End::Server(count) => u32::try_from(count).unwrap(),
            End::Whole | End::Client(_) => u32::MAX,
        };
        let length = u32::try_from(self.bytes.len()).unwrap();
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&broken_after.to_be_bytes());
        header[4..].copy_from_slice(&length.to_be_bytes());
        header
    }

    /// After how many bytes the server breaks off, and how many there are.
    pub fn of_header(header: [u8; HEADER]) -> (usize, usize) {
        let number = |from: usize| {
            let bytes = header[from..from + 4].try_into().unwrap();
            usize::try_from(u32::from_be_bytes(bytes)).unwrap()
        };
        (number(0), number(4))
    }
}
