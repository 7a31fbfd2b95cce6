//! How one try to reach a target ended, judged from what the system said. Pure.

use std::io;

use rustix::io::Errno;

/// How a try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target answered.
    Answered,
    /// Something said no in the target's name.
    Refused(String),
    /// Nothing was heard in time.
    TimedOut(String),
    /// Somebody on the way said no.
    Unreachable(String),
    /// Nothing was sent: a missing permission, address or file descriptor of our own. Says nothing
    /// of the target.
    NotTried(String),
}

impl Outcome {
    /// Of a try that could not begin for want of a socket.
    pub fn without_socket(error: &io::Error) -> Self {
        Self::NotTried(error.to_string())
    }

    /// Of a try that was refused as it began: by our own system, or at once.
    pub fn at_once(error: &io::Error) -> Self {
        judge(error).unwrap_or_else(|| Self::NotTried(error.to_string()))
    }

    /// Of a try that had begun, so that whatever comes has come from outside.
    pub fn of(error: &io::Error) -> Self {
        judge(error).unwrap_or_else(|| Self::Unreachable(error.to_string()))
    }
}

fn judge(error: &io::Error) -> Option<Outcome> {
    let text = error.to_string();
    match Errno::from_io_error(error)? {
        Errno::CONNREFUSED | Errno::CONNRESET => Some(Outcome::Refused(text)),
        Errno::TIMEDOUT => Some(Outcome::TimedOut(text)),
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::PERM | Errno::ACCESS => {
            Some(Outcome::Unreachable(text))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Answered => "answered",
            Outcome::Refused(_) => "refused",
            Outcome::TimedOut(_) => "timed out",
            Outcome::Unreachable(_) => "unreachable",
            Outcome::NotTried(_) => "not tried",
        }
    }

    #[rstest::rstest]
    #[case(Errno::CONNREFUSED, "refused", "refused")]
    #[case(Errno::CONNRESET, "refused", "refused")]
    #[case(Errno::TIMEDOUT, "timed out", "timed out")]
    #[case(Errno::HOSTUNREACH, "unreachable", "unreachable")]
    #[case(Errno::NETUNREACH, "unreachable", "unreachable")]
    #[case(Errno::PERM, "unreachable", "unreachable")]
    #[case(Errno::ACCESS, "unreachable", "unreachable")]
    // Ours: no address of that family, no port left, no descriptor left.
    #[case(Errno::ADDRNOTAVAIL, "not tried", "unreachable")]
    #[case(Errno::AFNOSUPPORT, "not tried", "unreachable")]
    #[case(Errno::MFILE, "not tried", "unreachable")]
    // Only ICMP messages bring these, so they come later.
    #[case(Errno::NOPROTOOPT, "not tried", "unreachable")]
    fn an_error_is_judged_by_when_it_came(
        #[case] errno: Errno,
        #[case] at_once: &str,
        #[case] later: &str,
    ) {
        let error = io::Error::from(errno);
        assert_eq!(kind(&Outcome::at_once(&error)), at_once);
        assert_eq!(kind(&Outcome::of(&error)), later);
    }

    #[test]
    fn a_socket_that_is_refused_says_nothing_of_the_target() {
        let error = io::Error::from(Errno::ACCESS);
        assert_eq!(kind(&Outcome::without_socket(&error)), "not tried");
    }
}
