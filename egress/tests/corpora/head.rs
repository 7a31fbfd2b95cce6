//! Any bytes as what a client sends first: they are judged alike however they are cut, within the limit,
//! and a request that is understood is a CONNECT with one reading.

use sandgate_egress::head;
use sandgate_egress::refusal::Reason;

/// Asserts the law; whether `bytes` begin with a request that is understood.
pub fn holds(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(head::LONGEST)];
    let at_once = head::end(bytes, 0);
    for step in [1, 7] {
        let mut seen = 0;
        let mut found = Ok(None);
        while seen < bytes.len() && found == Ok(None) {
            let upto = (seen + step).min(bytes.len());
            found = head::end(&bytes[..upto], seen);
            seen = upto;
        }
        assert_eq!(found, at_once, "in steps of {step}");
    }
    let Ok(Some(end)) = at_once else {
        return false;
    };
    let head = &bytes[..end];
    assert!(head.ends_with(b"\r\n\r\n"));
    match head::read(head) {
        Ok(request) => {
            let line = head.trim_ascii_start();
            assert!(line.starts_with(b"CONNECT "), "{request:?}");
            let host = request.target.host.to_string();
            assert!(!host.is_empty() && host.is_ascii(), "{host:?}");
            true
        }
        Err(refusal) => {
            let known = [
                Reason::BadRequest,
                Reason::MethodNotAllowed,
                Reason::HeadTooLarge,
            ];
            assert!(known.contains(&refusal.reason), "{refusal:?}");
            let answer = refusal.answer();
            assert!(answer.is_ascii() && answer.ends_with(b"\n"));
            false
        }
    }
}
