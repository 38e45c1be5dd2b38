//! Records exchanged for others, in a message or in a whole file.

use std::borrow::Cow;
use std::ops::Range;

/// Parts of a file and what comes in their place. The parts do not overlap.
#[derive(Debug, Default)]
pub(super) struct Patches<'a>(Vec<(Range<usize>, Cow<'a, [u8]>)>);

impl<'a> Patches<'a> {
    pub(super) fn remove(&mut self, part: Range<usize>) {
        self.0.push((part, Cow::Borrowed(&[])));
    }

    pub(super) fn insert(&mut self, at: usize, bytes: impl Into<Cow<'a, [u8]>>) {
        self.0.push((at..at, bytes.into()));
    }

    /// Puts records into slots, one each; those for which there is no slot come behind the last one, or `otherwise` if
    /// there is none at all. Slots that are left over vanish.
    pub(super) fn fill(&mut self, slots: &[Range<usize>], records: Vec<Cow<'a, [u8]>>, otherwise: usize) {
        let behind = slots.last().map_or(otherwise, |slot| slot.end);
        let mut records = records.into_iter();
        for slot in slots {
            self.0.push((slot.clone(), records.next().unwrap_or_default()));
        }
        records.for_each(|record| self.insert(behind, record));
    }

    /// What becomes of the part `whole`, in which all patches lie.
    pub(super) fn apply(mut self, file: &[u8], whole: Range<usize>) -> Vec<u8> {
        // Insertions at one place keep their order and come before what is replaced there.
        self.0.sort_by_key(|(part, _)| (part.start, part.end));
        let mut result = Vec::with_capacity(whole.len());
        let mut copied = whole.start;
        for (part, by) in &self.0 {
            result.extend_from_slice(&file[copied..part.start]);
            result.extend_from_slice(by);
            copied = part.end;
        }
        result.extend_from_slice(&file[copied..whole.end]);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(slots: &[Range<usize>], records: &[&'static [u8]]) -> Vec<u8> {
        let mut patches = Patches::default();
        patches.fill(slots, records.iter().map(|&r| Cow::Borrowed(r)).collect(), 1);
        patches.apply(b"0123456789", 1..9)
    }

    #[test]
    fn records_take_the_slots_that_are_there() {
        assert_eq!(filled(&[2..3, 5..7], &[b"a", b"b"]), b"1a34b78");
        assert_eq!(filled(&[2..3, 5..7], &[b"a", b"b", b"c", b"d"]), b"1a34bcd78");
        assert_eq!(filled(&[2..3, 5..7], &[b"a"]), b"1a3478");
        assert_eq!(filled(&[], &[b"a", b"b"]), b"ab12345678");
    }

    #[test]
    fn an_insertion_comes_before_what_is_removed_there() {
        let mut patches = Patches::default();
        patches.remove(3..5);
        patches.insert(3, &b"x"[..]);
        patches.insert(3, &b"y"[..]);
        assert_eq!(patches.apply(b"0123456789", 0..10), b"012xy56789");
    }
}
