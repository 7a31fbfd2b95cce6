use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn long(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&length, content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), long(content)].concat()
}

fn naming(name: &[u8]) -> Vec<u8> {
    extension(0, &long(&[&[0], long(name).as_slice()].concat()))
}

/// The message, without its records.
fn hello(extensions: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0]);
    body.extend(long(&[0x13, 0x01]));
    body.extend([1, 0]);
    body.extend(long(&extensions.concat()));
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1], &length[1..], &body].concat()
}

/// In records of at most `size` bytes.
fn records(message: &[u8], size: usize) -> Vec<u8> {
    message
        .chunks(size)
        .flat_map(|piece| [vec![22, 3, 1], long(piece)].concat())
        .collect()
}

fn named(name: &str) -> Hello {
    Hello::Names(Name::read(name).unwrap())
}

#[rstest]
#[case::as_it_is(b"api.github.com", "api.github.com")]
#[case::in_capitals(b"API.github.com", "api.github.com")]
#[case::with_a_trailing_dot(b"api.github.com.", "api.github.com")]
fn the_name_is_found(#[case] name: &[u8], #[case] wanted: &str) {
    let other = extension(43, &[2, 3, 4]);
    let message = hello(&[other.clone(), naming(name), other]);
    assert_eq!(look(&records(&message, 1 << 14)), named(wanted));
}

#[test]
fn of_an_encrypted_hello_the_name_outside_counts_and_noise_is_passed_over() {
    let encrypted = extension(0xfe0d, &[0; 186]);
    let (noise, more) = (extension(0x0a0a, &[]), extension(0xfafa, &[0]));
    let message = hello(&[noise, naming(b"cdn.example"), encrypted, more]);
    assert_eq!(look(&records(&message, 1 << 14)), named("cdn.example"));
}

#[test]
fn a_hello_in_many_records_and_pieces_is_read_when_it_is_whole() {
    let message = hello(&[naming(b"a.example")]);
    for size in [1, 2, 5, 100] {
        let bytes = records(&message, size);
        for length in 0..bytes.len() {
            assert_eq!(look(&bytes[..length]), Hello::Partial, "{size}, {length}");
        }
        assert_eq!(look(&bytes), named("a.example"), "{size}");
        let more = [bytes, vec![20, 3, 3, 0, 1, 1]].concat();
        assert_eq!(look(&more), named("a.example"), "{size}");
    }
}

#[rstest]
#[case::without_extensions(hello(&[]))]
#[case::with_others(hello(&[extension(43, &[2, 3, 4]), extension(0xfe0d, &[0; 100])]))]
fn a_hello_that_names_nobody_is_told_as_such(#[case] message: Vec<u8>) {
    assert_eq!(look(&records(&message, 1 << 14)), Hello::Nameless);
}

#[test]
fn a_hello_from_before_extensions_names_nobody() {
    let mut body = vec![3, 1];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0, 0x2f, 1, 0]);
    let length = u8::try_from(body.len()).unwrap();
    let message = [vec![1, 0, 0, length], body].concat();
    assert_eq!(look(&records(&message, 1 << 14)), Hello::Nameless);
}

#[rstest]
#[case::another_protocol(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec())]
#[case::plain_http(b"GET / HTTP/1.1\r\n".to_vec())]
#[case::the_hello_of_ssl_2(vec![0x80, 0x2e, 1, 3, 1])]
#[case::another_record(vec![23, 3, 3, 0, 1, 0])]
#[case::another_major_version(vec![22, 2, 0, 0, 1])]
#[case::an_empty_record(vec![22, 3, 1, 0, 0])]
#[case::a_huge_record(vec![22, 3, 1, 0xff, 0xff])]
#[case::another_message(records(&[2, 0, 0, 1, 0], 100))]
#[case::a_huge_message(records(&[1, 0xff, 0, 0], 100))]
#[case::two_names(records(&hello(&[naming(b"a.example"), naming(b"b.example")]), 1 << 14))]
#[case::two_names_in_one(records(&hello(&[extension(0, &long(&[0, 0, 1, b'a', 0, 0, 1, b'b']))]), 1 << 14))]
#[case::a_name_of_another_kind(records(&hello(&[extension(0, &long(&[1, 0, 1, b'a']))]), 1 << 14))]
#[case::an_empty_name(records(&hello(&[naming(b"")]), 1 << 14))]
#[case::a_name_with_a_zero_byte(records(&hello(&[naming(b"a.example\0")]), 1 << 14))]
#[case::a_name_in_another_alphabet(records(&hello(&[naming("ä.example".as_bytes())]), 1 << 14))]
#[case::no_name_in_the_extension(records(&hello(&[extension(0, &[])]), 1 << 14))]
#[case::an_extension_too_long(records(&hello(&[vec![0, 0, 0, 9, 0]]), 1 << 14))]
fn what_cannot_be_read_in_one_way_is_no_hello(#[case] bytes: Vec<u8>) {
    assert_eq!(look(&bytes), Hello::Other);
}

#[test]
fn a_hello_that_does_not_end_is_none_at_the_limit() {
    let message = [vec![1, 0, 0x3f, 0xff], vec![0; LONGEST]].concat();
    let bytes = records(&message, 1);
    assert_eq!(look(&bytes[..LONGEST - 1]), Hello::Partial);
    assert_eq!(look(&bytes[..LONGEST]), Hello::Other);
}

proptest! {
    #[test]
    fn any_bytes_are_answered_and_more_of_them_change_no_verdict(
        noise in proptest::collection::vec(any::<u8>(), 0..80),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        size in 1_usize..200,
    ) {
        let mut changed = records(&hello(&[naming(b"a.example")]), size);
        let index = at.index(changed.len());
        changed[index] = value;
        for bytes in [noise, changed] {
            let verdicts: Vec<Hello> = (0..=bytes.len()).map(|length| look(&bytes[..length])).collect();
            let mut settled = verdicts.into_iter().skip_while(|verdict| *verdict == Hello::Partial);
            if let Some(first) = settled.next() {
                prop_assert!(settled.all(|later| later == first));
            }
        }
    }
}
