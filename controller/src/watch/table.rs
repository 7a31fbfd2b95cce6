//! The objects of one watch, by key and by group. Pure.
//!
//! Two hands write here: the watch, and our own writes, which put what the API server returned in
//! place at once. Within one resource the API server's resourceVersions grow, so whichever is newer
//! wins, and a write that the watch has already overtaken changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};
use std::hash::Hash;

use crate::key::Key;

/// Objects of one kind. `G` names the groups that an object belongs to.
#[derive(Debug)]
pub struct Table<V, G> {
    entries: BTreeMap<Key, Entry<V>>,
    members: HashMap<G, Keys>,
    groups: fn(&Key, &V) -> Vec<G>,
    /// The newest version that the watch has delivered.
    delivered: u64,
    /// Keys seen since the listing began, while one is under way.
    listed: Option<BTreeSet<Key>>,
}

#[derive(Debug)]
struct Entry<V> {
    version: u64,
    /// In a box: a tree keeps room for almost twice as many entries as it has.
    value: Box<V>,
}

/// The keys of a group, never none.
#[derive(Debug)]
enum Keys {
    /// Most groups have but one, for which a set would keep room for eleven.
    One(Key),
    Many(BTreeSet<Key>),
}

impl Keys {
    fn iter(&self) -> impl Iterator<Item = &Key> {
        let (one, many) = match self {
            Self::One(key) => (Some(key), None),
            Self::Many(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(keys) => keys.len(),
        }
    }

    fn insert(&mut self, key: Key) {
        match self {
            Self::One(only) if *only == key => {}
            Self::One(first) => *self = Self::Many([std::mem::take(first), key].into()),
            Self::Many(keys) => {
                keys.insert(key);
            }
        }
    }

    /// Whether none is left.
    fn remove(&mut self, key: &Key) -> bool {
        match self {
            Self::One(only) => only == key,
            Self::Many(keys) => {
                keys.remove(key);
                keys.is_empty()
            }
        }
    }
}

impl<V, G: Hash + Eq> Table<V, G> {
    /// An empty table; `groups` says which groups an object belongs to.
    pub fn new(groups: fn(&Key, &V) -> Vec<G>) -> Self {
        Self {
            entries: BTreeMap::new(),
            members: HashMap::new(),
            groups,
            delivered: 0,
            listed: None,
        }
    }

    /// The object under a key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        self.entries.get(key).map(|entry| &*entry.value)
    }

    /// The version of the object under a key.
    pub fn version(&self, key: &Key) -> Option<u64> {
        self.entries.get(key).map(|entry| entry.version)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.keys()
    }

    /// All keys of a namespace, in order.
    pub fn keys_in(&self, namespace: &str) -> impl Iterator<Item = &Key> {
        let first = Key::new(namespace, "");
        self.entries
            .range(first..)
            .map(|(key, _)| key)
            .take_while(move |key| key.namespace == namespace)
    }

    /// All keys of a group, in order.
    pub fn group(&self, group: &G) -> impl Iterator<Item = &Key> {
        self.members.get(group).into_iter().flat_map(Keys::iter)
    }

    /// How many objects a group has.
    pub fn count(&self, group: &G) -> usize {
        self.members.get(group).map_or(0, Keys::len)
    }

    /// All objects of a group, in order of their keys.
    pub fn members(&self, group: &G) -> impl Iterator<Item = &V> {
        self.group(group).filter_map(|key| self.get(key))
    }

    /// Takes in what the watch delivered. Returns whether it was news, and what stood before.
    pub fn observe(&mut self, key: Key, version: u64, value: V) -> (bool, Option<V>) {
        self.delivered = self.delivered.max(version);
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        if self
            .entries
            .get(&key)
            .is_some_and(|entry| entry.version > version)
        {
            return (false, None);
        }
        (true, self.put(key, version, value))
    }

    /// Takes in what was learnt beside the watch: what a write of ours returned, or what was read. It may be ahead
    /// of the watch or behind. A listing under way learns nothing from it. Returns whether it was news, and what
    /// stood before.
    pub fn learn(&mut self, key: Key, version: u64, value: V) -> (bool, Option<V>) {
        if self.lacks(&key, version) {
            (true, self.put(key, version, value))
        } else {
            (false, None)
        }
    }

    /// Whether an object that was seen in this version beside the watch is news.
    pub fn lacks(&self, key: &Key, version: u64) -> bool {
        let known = self.entries.get(key);
        // While a listing is under way the watch has not told everything up to what it told last.
        let overtaken = self.listed.is_none() && version <= self.delivered;
        !overtaken && known.is_none_or(|entry| entry.version < version)
    }

    /// What stood at `version`, or before it, and is none of `all`, which is everything that stood then.
    pub fn missing_from(&self, all: &BTreeSet<Key>, version: u64) -> Vec<(Key, u64)> {
        let gone =
            |(key, entry): &(&Key, &Entry<V>)| entry.version <= version && !all.contains(*key);
        let gone = self.entries.iter().filter(gone);
        gone.map(|(key, entry)| (key.clone(), entry.version))
            .collect()
    }

    /// The watch says that the object is gone; returns it.
    pub fn remove(&mut self, key: &Key, version: u64) -> Option<V> {
        self.delivered = self.delivered.max(version);
        // A newer entry is a write of ours, of another object by the same name.
        if self
            .entries
            .get(key)
            .is_some_and(|entry| entry.version > version)
        {
            return None;
        }
        self.take(key)
    }

    /// The watch begins to list everything anew.
    pub fn begin_listing(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// The listing is whole: what it did not show is gone and is to be removed. Returns the key and
    /// version of each. That goes for what we wrote meanwhile, too: nobody knows whether it was before what
    /// is listed, and then somebody has taken it away since, or after, and then the watch tells of it next.
    pub fn end_listing(&mut self) -> Vec<(Key, u64)> {
        let Some(listed) = self.listed.take() else {
            return Vec::new();
        };
        self.entries
            .iter()
            .filter(|(key, _)| !listed.contains(*key))
            .map(|(key, entry)| (key.clone(), entry.version))
            .collect()
    }

    fn put(&mut self, key: Key, version: u64, value: V) -> Option<V> {
        let before = self.take(&key);
        for group in (self.groups)(&key, &value) {
            match self.members.entry(group) {
                hash_map::Entry::Occupied(mut keys) => keys.get_mut().insert(key.clone()),
                hash_map::Entry::Vacant(place) => {
                    place.insert(Keys::One(key.clone()));
                }
            }
        }
        let value = Box::new(value);
        self.entries.insert(key, Entry { version, value });
        before
    }

    fn take(&mut self, key: &Key) -> Option<V> {
        let Entry { value, .. } = self.entries.remove(key)?;
        for group in (self.groups)(key, &value) {
            if let hash_map::Entry::Occupied(mut keys) = self.members.entry(group)
                && keys.get_mut().remove(key)
            {
                keys.remove();
            }
        }
        Some(*value)
    }
}

#[cfg(test)]
mod tests;
