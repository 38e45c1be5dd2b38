//! Decides depth first, from the bottom up, whether there is a placement within a capacity.
//!
//! A node decides which item rests at the lowest offset of some section: one of the items that could, or none of them.
//! These are all cases, so if all fail, that is a proof. Sections that no open item connects are solved separately.
//!
//! The stack is explicit: a thousand buffers make a thousand levels.

use super::choose::{Strategy, are_twins};
use super::memo::Memo;
use super::state::{DeadEnd, NOWHERE, State};
use crate::StopReason;
use serenity_search::{Watch, mix};
use std::cmp::Ordering;
use std::ops::Range;

/// So many items looked at while conclusions are drawn count as one looked at to choose. Each costs about half as much,
/// so this is generous: what a search may look at was settled before these counted at all, and with an eighth every
/// arena that docs/RESULTS.md states is still reached.
const BRIEF_LOOKS: u64 = 8;

pub(super) enum Outcome {
    /// The state holds a placement.
    Found,
    /// There is no placement within the capacity.
    Refuted,
    /// The nodes are used up.
    Unknown,
    /// The time is up, or the search was cancelled.
    Stopped(StopReason),
}

pub(super) struct Search<'a, 's> {
    pub(super) state: State<'a>,
    strategy: &'s Strategy,
    memo: &'s mut Memo,
    nodes_left: u64,
    frames: Vec<Frame>,
    /// Candidates of all branches on the stack.
    candidates: Vec<u32>,
    /// Parts of all splits on the stack.
    parts: Vec<Range<usize>>,
}

enum Frame {
    Branch {
        sections: Range<usize>,
        /// The length of the trail before the node.
        entry: usize,
        /// The length of the trail before any of its alternatives.
        base: usize,
        candidates: Range<usize>,
        /// The next candidate; at the end: none of them.
        next: usize,
    },
    Split {
        entry: usize,
        parts: Range<usize>,
        /// The next part.
        next: usize,
    },
}

enum Step {
    Enter(Range<usize>),
    Solved,
    Failed,
    End(Outcome),
}

impl<'a, 's> Search<'a, 's> {
    pub(super) fn new(state: State<'a>, strategy: &'s Strategy, memo: &'s mut Memo, nodes: u64) -> Self {
        Self { state, strategy, memo, nodes_left: nodes, frames: vec![], candidates: vec![], parts: vec![] }
    }

    pub(super) fn run(&mut self, watch: &mut Watch) -> Outcome {
        let all = 0..self.state.model.sections();
        if self.state.propagate().is_err() {
            return Outcome::Refuted;
        }
        let mut step = Step::Enter(all);
        loop {
            step = match step {
                Step::Enter(sections) => self.enter(sections, watch),
                Step::Solved => self.after_success(),
                Step::Failed => self.after_failure(),
                Step::End(outcome) => return outcome,
            }
        }
    }

    fn enter(&mut self, sections: Range<usize>, watch: &mut Watch) -> Step {
        if self.nodes_left == 0 {
            return Step::End(Outcome::Unknown);
        }
        self.nodes_left -= 1;
        watch.states += 1;
        let looked_at = sections.len() + self.state.model.beginning_in(sections.clone()).len();
        let briefly = self.state.take_looked_at() / BRIEF_LOOKS;
        if let Some(reason) = watch.after(looked_at as u64 + briefly) {
            return Step::End(Outcome::Stopped(reason));
        }
        let entry = self.state.mark();
        if self.place_what_is_in_nobodys_way(&sections).is_err() {
            self.state.undo(entry);
            return Step::Failed;
        }
        let start = self.parts.len();
        self.split(&sections);
        match (self.parts.len() - start).cmp(&1) {
            Ordering::Less => Step::Solved,
            Ordering::Equal => {
                let sections = self.parts.pop().unwrap_or(sections);
                self.branch(sections, entry)
            }
            Ordering::Greater => {
                self.frames.push(Frame::Split { entry, parts: start..self.parts.len(), next: start + 1 });
                Step::Enter(self.parts[start].clone())
            }
        }
    }

    /// An item that is in nobody's way where it rests might as well rest there.
    fn place_what_is_in_nobodys_way(&mut self, sections: &Range<usize>) -> Result<(), DeadEnd> {
        let state = &mut self.state;
        while let Some(stirred) = state.take_stirred(sections) {
            for item in state.model.living_in(stirred) {
                if state.is_open(item) && !state.refused[item] && state.is_in_nobodys_way(item) {
                    state.place(item)?;
                    state.propagate()?;
                }
            }
        }
        Ok(())
    }

    /// Adds the parts between which no open item lives, the tightest first.
    fn split(&mut self, sections: &Range<usize>) {
        let state = &self.state;
        let start = self.parts.len();
        let mut begin = sections.start;
        for border in sections.start + 1..=sections.end {
            if border == sections.end || state.crossing[border] == 0 {
                if (begin..border).any(|section| state.floor[section] < NOWHERE) {
                    self.parts.push(begin..border);
                }
                begin = border;
            }
        }
        let need = |part: &Range<usize>| {
            let open = part.clone().filter(|&section| state.floor[section] < NOWHERE);
            open.map(|section| state.need(section)).max()
        };
        if self.parts.len() > start + 1 {
            self.parts[start..].sort_by_cached_key(|part| (std::cmp::Reverse(need(part)), part.start));
        }
    }

    fn branch(&mut self, sections: Range<usize>, entry: usize) -> Step {
        if !self.memo.is_empty() && self.memo.contains(signature(&self.state, &sections)) {
            self.state.undo(entry);
            return Step::Failed;
        }
        let start = self.candidates.len();
        if !self.strategy.choose(&mut self.state, &sections, &mut self.candidates) {
            // Refused items can end up holding one another. Then nothing is refused any more: that costs time, not truth.
            self.state.allow_all(&sections);
            if !self.strategy.choose(&mut self.state, &sections, &mut self.candidates) {
                return Step::End(Outcome::Unknown);
            }
        }
        let base = self.state.mark();
        let candidates = start..self.candidates.len();
        self.frames.push(Frame::Branch { sections, entry, base, candidates, next: start });
        self.after_failure()
    }

    fn after_success(&mut self) -> Step {
        match self.frames.last_mut() {
            None => Step::End(Outcome::Found),
            Some(Frame::Split { parts, next, .. }) if *next < parts.end => {
                *next += 1;
                Step::Enter(self.parts[*next - 1].clone())
            }
            Some(Frame::Split { parts, .. }) => {
                self.parts.truncate(parts.start);
                self.frames.pop();
                Step::Solved
            }
            Some(Frame::Branch { candidates, .. }) => {
                self.candidates.truncate(candidates.start);
                self.frames.pop();
                Step::Solved
            }
        }
    }

    /// The state is as it was before the last alternative of the topmost frame.
    fn after_failure(&mut self) -> Step {
        let Some(frame) = self.frames.last_mut() else { return Step::End(Outcome::Refuted) };
        match frame {
            Frame::Split { entry, parts, .. } => {
                self.state.undo(*entry);
                self.parts.truncate(parts.start);
                self.frames.pop();
                Step::Failed
            }
            Frame::Branch { sections, entry, base, candidates, next } => {
                while *next <= candidates.end {
                    let alternative = *next;
                    *next += 1;
                    self.state.undo(*base);
                    let tried = &self.candidates[candidates.start..alternative.min(candidates.end)];
                    let done = match self.candidates.get(alternative).filter(|_| alternative < candidates.end)
                    {
                        Some(&item) => place_unless_tried(&mut self.state, item as usize, tried),
                        None => tried.iter().try_for_each(|&item| self.state.refuse(item as usize)),
                    };
                    if done.and_then(|()| self.state.propagate()).is_ok() {
                        return Step::Enter(sections.clone());
                    }
                }
                self.state.undo(*base);
                let signature = signature(&self.state, sections);
                self.memo.insert(signature);
                self.state.undo(*entry);
                self.candidates.truncate(candidates.start);
                self.frames.pop();
                Step::Failed
            }
        }
    }
}

/// What was tried with a twin has been tried.
fn place_unless_tried(state: &mut State, item: usize, tried: &[u32]) -> Result<(), DeadEnd> {
    if tried.iter().any(|&other| are_twins(state.model, item, other as usize)) {
        return Err(DeadEnd);
    }
    state.place(item)
}

/// What an open part looks like to the search: it fails if and only if any other that looks the same does.
///
/// What is placed matters to open items only by where it lets them rest, which is their `lowest`; with one exception.
/// An open item that may begin where a placed one does, and is not above it yet, may rest there or on top of it but
/// nowhere between: then where that one lies belongs to the look.
fn signature(state: &State, sections: &Range<usize>) -> u128 {
    let mut sum = 0_u128;
    let mut add = |look: u64| sum = sum.wrapping_add(u128::from(mix(look)) << 64 | u128::from(look));
    for item in state.model.beginning_in(sections.clone()) {
        if state.is_open(item) {
            let own = mix((item as u64) << 1 | u64::from(state.refused[item]));
            add(mix(state.lowest[item] as u64 ^ own));
            for (partner, offset) in state.glued_below(item) {
                add(mix(offset as u64 ^ mix(own ^ mix(!(partner as u64)))));
            }
        }
    }
    sum
}
