//! In which order LiteRT's planner looks at equals.
//!
//! It collects the tensors of each op in a `std::unordered_set` and sorts all of them with `std::sort`. Neither keeps
//! the order of equals, and both are those of GNU's C++ library in the builds for Linux.

use std::cmp::Ordering;

/// So many a hash set holds before it grows.
const GROWS_AT: [usize; 12] = [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10_273, 20_753, 42_043];

/// How a hash set lists what was put into it: each new one goes to the front, and growing turns the list around.
pub(super) fn hash_set<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut list = std::collections::VecDeque::new();
    for item in items {
        if GROWS_AT.contains(&list.len()) {
            list.make_contiguous().reverse();
        }
        list.push_front(item);
    }
    list.into()
}

/// `std::sort`: quicksort down to 16, by the median of three, then insertion, which keeps the order of equals.
pub(super) fn std_sort<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    let depth = 2 * items.len().checked_ilog2().unwrap_or(0);
    quicksort(items, less, depth);
    items.sort_by(|a, b| match (less(a, b), less(b, a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    });
}

fn quicksort<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool, depth: u32) {
    if items.len() <= 16 || depth == 0 {
        return;
    }
    let (second, middle, last) = (1, items.len() / 2, items.len() - 1);
    // Ascending as far as `less` tells; of equals, as `__move_median_to_first` decides.
    let is_less = |a: usize, b: usize| less(&items[a], &items[b]);
    let median = match (is_less(second, middle), is_less(middle, last), is_less(second, last)) {
        (true, true, _) | (false, false, false) => middle,
        (true, false, true) | (false, true, false) => last,
        (true, false, false) | (false, _, true) => second,
    };
    items.swap(0, median);
    let (mut low, mut high) = (1, items.len());
    let cut = loop {
        while less(&items[low], &items[0]) {
            low += 1;
        }
        high -= 1;
        while less(&items[0], &items[high]) {
            high -= 1;
        }
        if low >= high {
            break low;
        }
        items.swap(low, high);
        low += 1;
    };
    let (left, right) = items.split_at_mut(cut);
    quicksort(left, less, depth - 1);
    quicksort(right, less, depth - 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_comes_first_until_the_set_grows() {
        assert_eq!(hash_set([1, 2, 3]), [3, 2, 1]);
        let grown: Vec<u32> = [15, 14].into_iter().chain(1..=13).collect();
        assert_eq!(hash_set(1..=15), grown);
    }

    #[test]
    fn it_sorts() {
        for count in [0_u64, 1, 16, 17, 100, 1000] {
            let mut items: Vec<u64> = (0..count).map(|i| i * 7919 % 31).collect();
            std_sort(&mut items, &|a, b| a < b);
            assert!(items.is_sorted());
        }
    }
}
