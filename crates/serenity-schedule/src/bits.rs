//! Sets of small integers as slices of words, so that a search can keep millions of them in one vector.

/// Words needed for a set over `0..len`.
pub(crate) fn words_for(len: usize) -> usize {
    len.div_ceil(64).max(1)
}

pub(crate) fn contains(set: &[u64], element: u32) -> bool {
    set[(element >> 6) as usize] >> (element & 63) & 1 != 0
}

pub(crate) fn insert(set: &mut [u64], element: u32) {
    set[(element >> 6) as usize] |= 1 << (element & 63);
}

pub(crate) fn remove(set: &mut [u64], element: u32) {
    set[(element >> 6) as usize] &= !(1 << (element & 63));
}

/// The elements, ascending.
pub(crate) fn iter(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                index as u32 * 64 + bit
            })
        })
    })
}

/// The smallest element that is at least `least`.
pub(crate) fn first_from(set: &[u64], least: u32) -> Option<u32> {
    let first = (least >> 6) as usize;
    let words = set.iter().enumerate().skip(first);
    let mut words =
        words.map(|(i, &word)| (i, if i == first { word & (u64::MAX << (least & 63)) } else { word }));
    words.find(|&(_, word)| word != 0).map(|(i, word)| i as u32 * 64 + word.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_go_in_and_out_across_words() {
        let mut set = vec![0; words_for(130)];
        for element in [0, 63, 64, 129] {
            insert(&mut set, element);
        }
        remove(&mut set, 63);
        assert!(contains(&set, 64) && !contains(&set, 63));
        assert_eq!(iter(&set).collect::<Vec<_>>(), [0, 64, 129]);
        assert_eq!([0, 1, 64, 65, 129, 130, 500].map(|least| first_from(&set, least)), {
            [Some(0), Some(64), Some(64), Some(129), Some(129), None, None]
        });
        assert_eq!(words_for(0), 1);
    }
}
