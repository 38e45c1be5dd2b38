//! Names as short as they can be and still tell things apart.
//!
//! Models call tensors `model_3/functional_1/block_13_expand_relu/Relu6;model_3/functional_1/block_13_expand_BN/…`:
//! what others have in common with it says nothing, and of what was fused the first name says enough.

use std::collections::{BTreeMap, BTreeSet};

/// How many characters of a full name are shown at all: a file may give a tensor a name of any length.
const LONGEST: usize = 400;

/// Each name in at most about `room` characters; different names stay different.
pub fn short_names(names: &[&str], room: usize) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    let rest: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut short: Vec<String> = telling_ends(&rest).iter().map(|name| without_middle(name, room)).collect();
    for group in collisions(&short, &names) {
        // Where they begin to differ is what tells them apart.
        let same = common_beginning(&group.iter().map(|&at| rest[at]).collect::<Vec<_>>());
        for &at in &group {
            let from = rest[at].char_indices().map(|(i, _)| i).rfind(|&i| i <= same).unwrap_or(0);
            short[at] = format!("…{}", without_end(&rest[at][from..], room.saturating_sub(1)));
        }
    }
    for group in collisions(&short, &names) {
        for (number, &at) in group.iter().enumerate() {
            short[at] = format!("{} ({})", short[at], number + 1);
        }
    }
    short
}

/// A full name, unless it is absurdly long.
pub(crate) fn full_name(name: &str) -> String {
    let name = one_line(name);
    let length = name.chars().count();
    if length <= LONGEST {
        return name;
    }
    format!("{} ({} characters)", without_middle(&name, LONGEST), length)
}

/// What would break a line or a terminal is shown as what it is not.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// So many folders of a name are looked at.
const FOLDERS: usize = 8;

/// Of each name the shortest end that no other has, in whole folders; of what was fused only the first name, unless
/// another begins with the same.
fn telling_ends<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let first = |name: &'a str| name.split(';').next().filter(|first| !first.is_empty()).unwrap_or(name);
    let mut bearers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &name in names {
        for end in ends(first(name)) {
            bearers.entry(end).or_default().insert(name);
        }
    }
    let of = |&name: &&'a str| ends(first(name)).find(|end| bearers[end].len() == 1).unwrap_or(name);
    names.iter().map(of).collect()
}

/// The last folder of a name, the last two, and so on; at last the whole.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let cuts = name.rmatch_indices('/').map(|(at, _)| at + 1).filter(|&at| at < name.len()).take(FOLDERS);
    cuts.map(|at| &name[at..]).chain([name])
}

/// How many bytes all begin with, up to a whole character.
fn common_beginning(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let mut same = first.len();
    for name in others {
        same = first.bytes().zip(name.bytes()).take(same).take_while(|(a, b)| a == b).count();
    }
    (0..=same).rev().find(|&at| first.is_char_boundary(at)).unwrap_or(0)
}

/// Positions of names that became the same, a group each.
fn collisions(short: &[String], full: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, name) in short.iter().enumerate() {
        groups.entry(name).or_default().push(at);
    }
    groups.into_values().filter(|group| group.iter().any(|&at| full[at] != full[group[0]])).collect()
}

/// The beginning and the end, which tells more.
fn without_middle(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let beginning = room / 3;
    let end = room - beginning - 1;
    let chars: Vec<char> = name.chars().collect();
    chars[..beginning].iter().chain(&['…']).chain(&chars[length - end..]).collect()
}

fn without_end(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_have_in_common_goes_and_what_differs_stays() {
        assert_eq!(short_names(&["net/a/conv", "net/b/conv"], 30), ["a/conv", "b/conv"]);
        assert_eq!(short_names(&["net/a/relu;net/a/bn", "net/b"], 30), ["relu", "b"]);
        assert_eq!(short_names(&["same", "same"], 30), ["same", "same"]);
        assert_eq!(short_names(&["x"], 30), ["x"]);
        assert!(short_names(&[], 30).is_empty());
    }

    #[test]
    fn long_names_fit_and_stay_apart_wherever_they_differ() {
        let long = "layer".repeat(2000);
        let names: Vec<String> = (0..4).map(|i| format!("{long}{i}{long}")).chain([long.clone()]).collect();
        let short = short_names(&names.iter().map(String::as_str).collect::<Vec<_>>(), 30);
        assert!(short.iter().all(|name| name.chars().count() <= 36), "{short:?}");
        let different: BTreeSet<&String> = short.iter().collect();
        assert_eq!(different.len(), 5, "{short:?}");
        assert!(full_name(&long).len() < 500);
    }

    #[test]
    fn any_characters_are_fine() {
        let names = ["ä/ö\n1", "ä/ö\u{0}2", "ä/é;ü", ""];
        let short = short_names(&names, 3);
        assert!(short.iter().all(|name| !name.contains(char::is_control)), "{short:?}");
        assert_eq!(short.iter().collect::<BTreeSet<_>>().len(), 4, "{short:?}");
    }
}
