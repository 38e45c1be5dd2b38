//! Many short lists in one allocation.

/// A list for each of the numbers 0, 1, 2, …
pub(super) struct Lists<T> {
    ends: Vec<usize>,
    entries: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Collects `(list, entry)` pairs; within a list, they keep their order.
    pub(super) fn new(lists: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut ends = vec![0; lists + 1];
        for (list, _) in pairs.clone() {
            ends[list + 1] += 1;
        }
        for list in 0..lists {
            ends[list + 1] += ends[list];
        }
        let mut next = ends.clone();
        let mut order = vec![0; ends[lists]];
        let mut unsorted = Vec::with_capacity(ends[lists]);
        for (list, entry) in pairs {
            order[next[list]] = unsorted.len();
            next[list] += 1;
            unsorted.push(entry);
        }
        Self { ends, entries: order.into_iter().map(|at| unsorted[at]).collect() }
    }

    pub(super) fn of(&self, list: usize) -> &[T] {
        &self.entries[self.ends[list]..self.ends[list + 1]]
    }
}
