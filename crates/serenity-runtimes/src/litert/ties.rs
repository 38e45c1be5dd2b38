//! The order in which LiteRT's planner places tensors of equal rank.
//!
//! It puts the tensors of each op into a hash set, lists the sets op by op and sorts the list with an unstable sort.
//! The order of tensors of the same size and the same first op depends on the C++ library: here GNU's, with which
//! LiteRT is built for Linux. This matters for ops with several results of one size, above all splits. Collisions in
//! the hash set are not modelled.

use std::cmp::Ordering;

/// Sizes of the hash table; it is rebuilt when it is full.
const TABLE_SIZES: &[usize] = &[13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043];

/// The order in which a hash set lists what was put into it: the last one first, and all turned around whenever the
/// table was rebuilt.
pub(super) fn as_listed<T>(inserted: Vec<T>) -> Vec<T> {
    // Built back to front, so that each goes to the end.
    let mut listed = Vec::with_capacity(inserted.len());
    for item in inserted {
        if TABLE_SIZES.contains(&listed.len()) {
            listed.reverse();
        }
        listed.push(item);
    }
    listed.reverse();
    listed
}

/// Shorter stretches are left to an insertion sort, which is stable.
const SHORT: usize = 16;

/// Sorts as the C++ library does: a quicksort until all stretches are short, then an insertion sort. What it does where
/// the quicksort has been unlucky again and again is not followed.
pub(super) fn sort<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let patience = 2 * list.len().checked_ilog2().unwrap_or(0);
    let mut stretches = vec![(0, list.len(), patience)];
    while let Some((first, last, patience)) = stretches.pop() {
        if last - first > SHORT && patience > 0 {
            let cut = first + divide(&mut list[first..last], &compare);
            stretches.extend([(first, cut, patience - 1), (cut, last, patience - 1)]);
        }
    }
    list.sort_by(compare);
}

/// Puts what comes before the pivot to the left of the rest, and tells where the rest begins.
fn divide<T>(list: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    let pivot = median(list, [1, list.len() / 2, list.len() - 1], compare);
    list.swap(0, pivot);
    let (mut left, mut right) = (1, list.len());
    loop {
        while compare(&list[left], &list[0]).is_lt() {
            left += 1;
        }
        right -= 1;
        while compare(&list[0], &list[right]).is_lt() {
            right -= 1;
        }
        if left >= right {
            return left;
        }
        list.swap(left, right);
        left += 1;
    }
}

/// The middle one of three; of equals, the one that the C++ library takes.
fn median<T>(list: &[T], [a, b, c]: [usize; 3], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    let before = |x: usize, y: usize| compare(&list[x], &list[y]).is_lt();
    if before(a, b) {
        if before(b, c) {
            b
        } else if before(a, c) {
            c
        } else {
            a
        }
    } else if before(a, c) {
        a
    } else if before(b, c) {
        c
    } else {
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_the_last_first_and_turns_around_when_it_grows() {
        assert_eq!(as_listed(vec![1, 2, 3]), [3, 2, 1]);
        let listed = as_listed((1..=15).collect::<Vec<u32>>());
        assert_eq!(listed, [15, 14, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    }

    #[test]
    fn it_sorts_whatever_the_order() {
        for count in [0_usize, 1, 2, 16, 17, 40, 1000] {
            for factor in [1, 7, 999_983] {
                let mut list: Vec<usize> = (0..count).map(|i| i * factor % 101).collect();
                let mut expected = list.clone();
                expected.sort_unstable();
                sort(&mut list, Ord::cmp);
                assert_eq!(list, expected);
            }
        }
    }

    #[test]
    fn short_lists_keep_the_order_of_equals() {
        let mut list: Vec<(u32, u32)> = (0..16).map(|i| (i % 2, i)).collect();
        sort(&mut list, |a, b| a.0.cmp(&b.0));
        assert!(list.is_sorted());
    }
}
