//! Many short lists in one piece of memory: a copy of them is two allocations.

#[derive(Clone)]
pub(super) struct Lists {
    items: Vec<usize>,
    /// Where each list begins, and the end of the last.
    begins: Vec<usize>,
}

impl Default for Lists {
    fn default() -> Self {
        Self { items: Vec::new(), begins: vec![0] }
    }
}

impl Lists {
    pub(super) fn len(&self) -> usize {
        self.begins.len() - 1
    }

    pub(super) fn of(&self, list: usize) -> &[usize] {
        &self.items[self.begins[list]..self.begins[list + 1]]
    }

    pub(super) fn of_mut(&mut self, list: usize) -> &mut [usize] {
        &mut self.items[self.begins[list]..self.begins[list + 1]]
    }

    pub(super) fn push(&mut self, list: &[usize]) {
        self.items.extend_from_slice(list);
        self.begins.push(self.items.len());
    }

    /// So many lists, of the second of all pairs whose first is the number of the list, in the order of the pairs.
    pub(super) fn grouped(lists: usize, pairs: &[(usize, usize)]) -> Self {
        let mut begins = vec![0; lists + 1];
        for &(list, _) in pairs {
            begins[list + 1] += 1;
        }
        for list in 0..lists {
            begins[list + 1] += begins[list];
        }
        let mut next = begins.clone();
        let mut items = vec![0; pairs.len()];
        for &(list, item) in pairs {
            items[next[list]] = item;
            next[list] += 1;
        }
        Self { items, begins }
    }
}

impl FromIterator<Vec<usize>> for Lists {
    fn from_iter<T: IntoIterator<Item = Vec<usize>>>(lists: T) -> Self {
        let mut all = Self::default();
        for list in lists {
            all.push(&list);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    #[test]
    fn lists_come_back_as_they_went_in() {
        let mut lists: Lists = [vec![3, 1], vec![], vec![4]].into_iter().collect();
        lists.of_mut(0)[1] = 5;
        lists.push(&[9]);
        assert_eq!((lists.len(), lists.of(0), lists.of(1), lists.of(3)), (4, &[3, 5][..], &[][..], &[9][..]));
        let grouped = Lists::grouped(3, &[(2, 7), (0, 1), (2, 8)]);
        assert_eq!((grouped.of(0), grouped.of(1), grouped.of(2)), (&[1][..], &[][..], &[7, 8][..]));
    }
}
