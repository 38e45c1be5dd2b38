//! Belady's clairvoyant rule, as the paper uses it: make room by dropping what is used again last.

use crate::plan::Plan;
use crate::{Demand, Grain};
use std::collections::BTreeSet;

/// What Belady's rule keeps in a memory of `capacity` units.
pub(crate) fn belady(demand: &Demand, capacity: u64) -> Plan {
    let chip = Chip {
        demand,
        free: capacity,
        resident: vec![0; demand.buffers.len()],
        by_next_use: BTreeSet::new(),
        plan: Plan::nothing(demand),
    };
    match demand.grain {
        Grain::Tensor => chip.run_tensors(capacity),
        Grain::Page => chip.run_pages(),
    }
}

struct Chip<'a> {
    demand: &'a Demand,
    free: u64,
    /// Units of each buffer on chip.
    resident: Vec<u64>,
    /// Who may be dropped: the step of the next use, and the buffer.
    by_next_use: BTreeSet<(usize, usize)>,
    plan: Plan,
}

impl Chip<'_> {
    /// All operands of an op are on chip together, unless they never fit: then those that are not there stream through.
    fn run_tensors(mut self, capacity: u64) -> Plan {
        let demand = self.demand;
        for (step, operands) in demand.operands.iter().enumerate() {
            let mut missing = Vec::new();
            for &operand in operands {
                let Some(gap) = demand.gap_before(operand) else {
                    missing.push(operand);
                    continue;
                };
                self.plan.kept[gap] = self.resident[operand.buffer];
                // Nobody is dropped for an op that needs it.
                if !self.by_next_use.remove(&(step, operand.buffer)) {
                    missing.push(operand);
                }
            }
            let streams = demand.working_set(step) > capacity;
            missing.sort_by_key(|&operand| (demand.next_use(operand).unwrap_or(usize::MAX), operand.buffer));
            for operand in missing {
                let units = demand.buffers[operand.buffer].units;
                let next_use = demand.next_use(operand).unwrap_or(usize::MAX);
                // What streams is kept afterwards if that is worth more than what is there.
                let may_drop = |victim_use: usize| !streams || victim_use > next_use;
                if self.make_room(units, may_drop) {
                    self.free -= units;
                    self.resident[operand.buffer] = units;
                }
            }
            for &operand in operands {
                match demand.next_use(operand) {
                    Some(next_use) if self.resident[operand.buffer] > 0 => {
                        self.by_next_use.insert((next_use, operand.buffer));
                    }
                    _ => self.free += std::mem::take(&mut self.resident[operand.buffer]),
                }
            }
        }
        self.plan
    }

    /// Drops those with the farthest next use until `units` are free; nobody if that is not to be had.
    fn make_room(&mut self, units: u64, may_drop: impl Fn(usize) -> bool) -> bool {
        let mut victims = Vec::new();
        let mut free = self.free;
        for &(next_use, buffer) in self.by_next_use.iter().rev() {
            if free >= units || !may_drop(next_use) {
                break;
            }
            free += self.resident[buffer];
            victims.push((next_use, buffer));
        }
        if free < units {
            return false;
        }
        for victim in victims {
            self.by_next_use.remove(&victim);
            self.resident[victim.1] = 0;
        }
        self.free = free;
        true
    }

    /// Operands pass page by page. A page stays until one comes that is used sooner.
    fn run_pages(mut self) -> Plan {
        let demand = self.demand;
        for (step, operands) in demand.operands.iter().enumerate() {
            for &operand in operands {
                let buffer = operand.buffer;
                self.by_next_use.remove(&(step, buffer));
                if let Some(gap) = demand.gap_before(operand) {
                    self.plan.kept[gap] = self.resident[buffer];
                }
                let Some(next_use) = demand.next_use(operand) else {
                    self.free += std::mem::take(&mut self.resident[buffer]);
                    continue;
                };
                let missing = demand.buffers[buffer].units - self.resident[buffer];
                while self.free < missing {
                    match self.by_next_use.last().copied() {
                        Some((farther, victim)) if farther > next_use => {
                            let dropped = self.resident[victim].min(missing - self.free);
                            self.free += dropped;
                            self.resident[victim] -= dropped;
                            if self.resident[victim] == 0 {
                                self.by_next_use.pop_last();
                            }
                        }
                        _ => break,
                    }
                }
                let taken = missing.min(self.free);
                self.free -= taken;
                self.resident[buffer] += taken;
                if self.resident[buffer] > 0 {
                    self.by_next_use.insert((next_use, buffer));
                }
            }
        }
        self.plan
    }
}
