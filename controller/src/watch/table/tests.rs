use super::Table;
use crate::key::Key;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

/// Objects are grouped by their first letter.
fn table() -> Table<&'static str, char> {
    Table::new(|_, value| value.chars().next().into_iter().collect())
}

#[test]
fn a_newer_version_replaces_an_older_one_and_never_the_other_way_round() {
    let mut table = table();
    assert_eq!(table.observe(key("a"), 5, "first"), (true, None));
    assert_eq!(table.observe(key("a"), 7, "second"), (true, Some("first")));
    table.learn(key("a"), 9, "written");
    assert!(!table.observe(key("a"), 8, "stale").0);
    assert_eq!(table.get(&key("a")), Some(&"written"));
}

#[test]
fn a_write_that_the_watch_has_overtaken_changes_nothing() {
    let mut table = table();
    table.observe(key("a"), 5, "made");
    table.remove(&key("a"), 8);
    // The answer to our own POST (version 5) is read only now.
    table.learn(key("a"), 5, "made");
    assert_eq!(table.get(&key("a")), None);
}

#[test]
fn the_end_of_an_object_does_not_take_its_successor_out() {
    let mut table = table();
    table.observe(key("a"), 5, "old");
    table.learn(key("a"), 9, "new");
    assert_eq!(table.remove(&key("a"), 7), None);
    assert_eq!(table.get(&key("a")), Some(&"new"));
}

#[test]
fn what_a_whole_listing_does_not_show_is_gone_and_what_it_shows_stays_as_we_wrote_it() {
    let mut table = table();
    table.observe(key("stays"), 1, "s");
    table.observe(key("goes"), 2, "g");
    table.begin_listing();
    table.learn(key("ours"), 9, "as written");
    table.observe(key("stays"), 1, "s");
    table.observe(key("ours"), 5, "as listed");
    assert_eq!(table.end_listing(), vec![(key("goes"), 2)]);
    assert_eq!(table.get(&key("ours")), Some(&"as written"));
}

// Proves: C-008
#[test]
fn what_we_wrote_while_a_listing_is_under_way_is_known_at_once_whatever_was_listed_before_it() {
    let mut table = table();
    table.observe(key("b"), 4, "waits");
    table.begin_listing();
    // One page of two: the object is on the other.
    table.observe(key("a"), 20, "listed");
    assert_eq!(table.learn(key("b"), 9, "admitted"), (true, Some("waits")));
    assert!(table.end_listing().contains(&(key("b"), 9)));
}

// Proves: O-037
#[test]
fn what_we_wrote_and_somebody_deleted_before_it_could_be_listed_is_gone() {
    let mut table = table();
    table.begin_listing();
    table.learn(key("baseline"), 9, "b");
    // Deleted as version 10; the listing is of version 11, and no watch will ever tell of it.
    for (key, version) in table.end_listing() {
        table.remove(&key, version);
    }
    assert_eq!(table.get(&key("baseline")), None);
    // Another one was written after what is listed: the watch, begun there, tells of it.
    assert!(table.observe(key("later"), 12, "l").0);
}

#[test]
fn without_a_listing_nothing_is_gone() {
    let mut table = table();
    table.observe(key("a"), 1, "a");
    assert_eq!(table.end_listing(), Vec::new());
}

#[test]
fn what_was_read_beside_the_watch_counts_where_it_is_newer_than_what_the_watch_told() {
    let mut table = table();
    table.observe(key("a"), 5, "told");
    assert_eq!(table.learn(key("a"), 5, "same"), (false, None));
    assert_eq!(table.learn(key("a"), 9, "read"), (true, Some("told")));
    assert_eq!(table.learn(key("a"), 8, "older"), (false, None));
    // The watch told that it is gone, after what was read.
    table.remove(&key("b"), 12);
    assert_eq!(table.learn(key("b"), 11, "gone"), (false, None));
    assert_eq!(table.get(&key("b")), None);
}

#[test]
fn what_was_read_while_a_listing_is_under_way_stays_only_if_the_listing_shows_it() {
    let mut table = table();
    table.begin_listing();
    table.observe(key("b"), 20, "listed");
    assert_eq!(table.learn(key("a"), 9, "read"), (true, None));
    assert_eq!(table.end_listing(), vec![(key("a"), 9)]);
}

#[test]
fn groups_follow_their_objects() {
    let mut table = table();
    table.observe(key("one"), 1, "apple");
    table.observe(key("two"), 2, "avocado");
    assert_eq!(table.members(&'a').count(), 2);
    table.observe(key("one"), 3, "banana");
    assert_eq!(table.group(&'a').collect::<Vec<_>>(), [&key("two")]);
    table.remove(&key("one"), 4);
    assert_eq!(table.group(&'b').count(), 0);
}

#[test]
fn keys_of_a_namespace_are_those_and_no_neighbours() {
    let mut table = table();
    for (namespace, name) in [("a", "x"), ("ab", "y"), ("b", "x"), ("b", "z"), ("c", "w")] {
        table.observe(Key::new(namespace, name), 1, "v");
    }
    let names: Vec<&str> = table.keys_in("b").map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["x", "z"]);
    assert_eq!(table.keys_in("").count(), 0);
}
