//! Any bytes as what a tunnel begins with: once they are judged, more of them change nothing.

use sandgate_egress::client_hello::{Hello, LONGEST, look};
use sandgate_egress::target::Name;

/// Asserts the law; whether `bytes` begin with a hello.
pub fn holds(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let whole = look(bytes);
    let mut settled = None;
    // Every byte of a short one, and some of a long one.
    for upto in (0..bytes.len()).step_by(1 + bytes.len() / 512) {
        let verdict = look(&bytes[..upto]);
        match &settled {
            Some(known) => assert_eq!(&verdict, known, "after {upto}"),
            None if verdict != Hello::Partial => settled = Some(verdict),
            None => {}
        }
    }
    if let Some(known) = settled {
        assert_eq!(whole, known);
    }
    if bytes.len() == LONGEST {
        assert_ne!(whole, Hello::Partial);
    }
    match whole {
        Hello::Names(name) => {
            assert_eq!(Name::read(name.as_str()), Ok(name));
            true
        }
        Hello::Nameless => true,
        Hello::Partial | Hello::Other => false,
    }
}
