//! Reads of one input and writes of one output, as they happen.
//!
//! Every kernel that is replayed writes its output from front to back and leaves nothing out. So what is written so far
//! is one range, and whether a read comes too late is a comparison of two ranges.

/// What has happened so far. Positions are bytes from where the input begins, or the output.
pub(super) struct Trace {
    /// How far above the output the input begins; less than 0 if it begins below.
    distance: i64,
    /// So much of the output is written.
    written: i64,
    /// How far, at most, the end of what was written lay above a byte that was then read; `None` if there is no
    /// distance that always does.
    lead: Option<i64>,
    /// A byte of the input that was written over, then read.
    lost: Option<i64>,
}

/// Steps that are alike, one after the other.
pub(super) struct Beats<'a> {
    /// Where the input is read in the first of them.
    pub(super) reads: &'a [i64],
    /// Bytes of each read.
    pub(super) length: i64,
    /// By how much reads move from one step to the next.
    pub(super) read_step: i64,
    /// How many elements a step writes. For each of them, everything is read once more.
    pub(super) elements: i64,
    /// Bytes of an element.
    pub(super) item: i64,
    /// How many steps.
    pub(super) count: i64,
}

impl Trace {
    pub(super) fn at(distance: i64) -> Self {
        Self { distance, written: 0, lead: Some(0), lost: None }
    }

    pub(super) fn distance(&self) -> i64 {
        self.distance
    }

    /// The input byte that was lost, if one was.
    pub(super) fn lost_byte(&self) -> Option<i64> {
        self.lost
    }

    /// From this distance on, everything is safe.
    pub(super) fn lead(&self) -> Option<i64> {
        self.lead
    }

    /// The next bytes of the output are written.
    pub(super) fn append(&mut self, bytes: i64) {
        self.written += bytes;
    }

    /// Bytes of the input are read.
    pub(super) fn read(&mut self, begin: i64, end: i64) {
        self.read_behind(self.written, begin, end);
    }

    /// Bytes of the input become the next of the output by `memcpy`, which may go in any order: they count as written
    /// before they are read, but for a block that is copied onto itself.
    pub(super) fn copy(&mut self, from: i64, bytes: i64) {
        let is_onto_itself = from + self.distance == self.written;
        let lost = self.lost;
        self.move_block(from, bytes);
        if is_onto_itself {
            // What was written before ends where this block begins.
            self.lost = lost;
        }
    }

    /// As [`copy`](Self::copy), from this place or from a higher one: what would stay in its place may still move.
    pub(super) fn move_block(&mut self, from: i64, bytes: i64) {
        self.append(bytes);
        self.read(from, from + bytes);
    }

    /// Steps that are alike. Reads move up evenly, and so does the end of what is written. So which of the two is
    /// ahead, and by how much, shows in the first step and in the last; of those steps whose reads reach up to the
    /// output, in the first of them and in the last.
    pub(super) fn beats(&mut self, beats: &Beats) {
        let Beats { length, read_step, elements, item, count, .. } = *beats;
        if count < 1 {
            return;
        }
        let input_above = self.distance;
        for &read in beats.reads {
            let mut step = |k: i64| {
                let begin = read + k * read_step;
                // The last element of a step sees the most written.
                let written = self.written + (k * elements + elements - 1) * item;
                self.read_behind(written, begin, begin + length);
            };
            step(0);
            if count > 1 {
                // With the first, nothing may be written yet.
                step(1);
                let below = -input_above - read - length;
                if below >= 0 && read_step > 0 {
                    step((below / read_step + 1).min(count - 1));
                }
                step(count - 1);
            }
        }
        self.append(count * elements * item);
    }

    /// Nothing is known of the order: what is written may always be written before anything is read.
    pub(super) fn lose_unless_disjoint(&mut self, input_bytes: i64, output_bytes: i64) {
        self.append(output_bytes);
        self.read(0, input_bytes);
        self.lead = None;
    }

    /// Safe just here; no other distance was looked at.
    pub(super) fn only_here(&mut self) {
        self.lead = None;
    }

    fn read_behind(&mut self, written: i64, begin: i64, end: i64) {
        if written > 0 {
            self.lead = self.lead.map(|lead| lead.max(written - begin));
        }
        let lowest = begin.max(-self.distance);
        if lowest < end.min(written - self.distance) {
            self.lost.get_or_insert(lowest);
        }
    }
}
