//! The most pairs that fit side by side.

use std::collections::{BTreeMap, VecDeque};

/// The most of these pairs `(new, old)` of which no two have a side in common. Which ones is settled by the order of
/// the numbers alone, not by the order of the list.
///
/// Pairs are taken up one `new` after the other, each by a shortest alternating path (Berge: where there is none, there
/// is no larger choice). A `new` or an `old` that is part of the choice stays so, whatever comes later.
pub fn most_pairs(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    if pairs.len() < 2 {
        return pairs.to_vec();
    }
    let mut choices: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(new, old) in pairs {
        choices.entry(new).or_default().push(old);
    }
    for olds in choices.values_mut() {
        olds.sort_unstable();
    }
    let mut matching = Matching { choices: &choices, old_of: BTreeMap::new(), new_of: BTreeMap::new() };
    for &new in choices.keys() {
        matching.add(new);
    }
    matching.old_of.into_iter().collect()
}

struct Matching<'a> {
    choices: &'a BTreeMap<u32, Vec<u32>>,
    old_of: BTreeMap<u32, u32>,
    new_of: BTreeMap<u32, u32>,
}

impl Matching<'_> {
    /// Finds an `old` for this `new`, if others can move on to make room.
    fn add(&mut self, new: u32) {
        let mut reached_from: BTreeMap<u32, u32> = BTreeMap::new();
        let mut open = VecDeque::from([new]);
        while let Some(new) = open.pop_front() {
            for &old in &self.choices[&new] {
                if reached_from.contains_key(&old) {
                    continue;
                }
                reached_from.insert(old, new);
                match self.new_of.get(&old) {
                    Some(&holder) => open.push_back(holder),
                    None => return self.shift(old, &reached_from),
                }
            }
        }
    }

    /// Everybody on the path to this free `old` takes the next one.
    fn shift(&mut self, free: u32, reached_from: &BTreeMap<u32, u32>) {
        let mut next = Some(free);
        while let Some(old) = next {
            let new = reached_from[&old];
            self.new_of.insert(old, new);
            next = self.old_of.insert(new, old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::most_pairs;

    #[test]
    fn a_greedy_choice_makes_room() {
        assert_eq!(most_pairs(&[(2, 0), (2, 1), (3, 0)]), [(2, 1), (3, 0)]);
        assert_eq!(most_pairs(&[(7, 7)]), [(7, 7)]);
        assert_eq!(most_pairs(&[]), []);
    }

    /// By trying all subsets.
    fn most(pairs: &[(u32, u32)]) -> usize {
        let is_free = |set: usize, side: fn(&(u32, u32)) -> u32| {
            let mut sides: Vec<u32> = pairs
                .iter()
                .enumerate()
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, pair)| side(pair))
                .collect();
            let all = sides.len();
            sides.sort_unstable();
            sides.dedup();
            sides.len() == all
        };
        let fits = |&set: &usize| is_free(set, |pair| pair.0) && is_free(set, |pair| pair.1);
        (0..1 << pairs.len()).filter(fits).map(usize::count_ones).max().unwrap_or(0) as usize
    }

    #[test]
    fn no_subset_is_larger() {
        // All sets of pairs between three and three.
        for set in 0..1_usize << 9 {
            let pairs: Vec<(u32, u32)> =
                (0..9).filter(|i| set >> i & 1 == 1).map(|i| (i / 3, i % 3)).collect();
            assert_eq!(most_pairs(&pairs).len(), most(&pairs), "{pairs:?}");
        }
    }

    #[test]
    fn long_paths_take_no_stack() {
        let pairs: Vec<(u32, u32)> = (0..20_000).flat_map(|i| [(i, i), (i, i + 1)]).rev().collect();
        assert_eq!(most_pairs(&pairs).len(), 20_000);
    }
}
