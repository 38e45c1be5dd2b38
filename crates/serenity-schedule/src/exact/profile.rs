//! The profile of a module: the sets at which it may pause, and the memory to get from one to the next.

use super::Rules;
use super::contract::ProfileStep;
use super::cuts;
use super::flood::{Event, Flood};
use super::instance::Instance;
use crate::walk::steps_of;
use crate::{Problem, bits};

/// What the profiles of modules may take, and have taken.
pub(super) struct ProfileWork<'a> {
    /// States for one module in one direction of time.
    pub(super) states: u64,
    /// States for all so far.
    pub(super) spent: u64,
    /// Bytes for the tables of one.
    pub(super) memory: u64,
    pub(super) stop: &'a dyn Fn() -> bool,
    /// Was a search ended by anything but its states? Then it may end otherwise next time.
    pub(super) is_cut: bool,
}

/// The profile of a module, or `None` if it takes too many states.
pub(super) fn of(module: &Problem, rules: &Rules, effort: &mut ProfileWork) -> Option<Vec<ProfileStep>> {
    let lowest = cuts::minimum(module).least;
    let (before, after): (Vec<u32>, Vec<u32>) = (0..module.ops).partition(|&op| bits::contains(&lowest, op));
    let nothing = vec![0; module.words()];
    let down = module.segment(&nothing, module.at_start(), &before);
    let up = module.segment(&lowest, module.in_use_after(&lowest), &after);

    let mut profile = Vec::new();
    for step in descend(down.problem.clone(), rules, effort)? {
        profile.push(ProfileStep { ops: down.lift(&step.ops).collect(), ..step });
    }
    // Backwards, a step leaves in use what it finds there forwards.
    let mut climb = descend(up.problem.reversed(), rules, effort)?;
    let mut after = module.at_end();
    for step in &mut climb {
        step.ops.reverse();
        std::mem::swap(&mut step.after, &mut after);
    }
    for step in climb.into_iter().rev() {
        profile.push(ProfileStep { ops: up.lift(&step.ops).collect(), ..step });
    }
    Some(profile)
}

/// The steps by which a problem whose end is its lowest set gets there: each needs a higher level than the one before.
fn descend(problem: Problem, rules: &Rules, effort: &mut ProfileWork) -> Option<Vec<ProfileStep>> {
    if problem.is_empty() {
        return Some(Vec::new());
    }
    // Commitments are what this is about, whatever the ablation says.
    let rules = Rules { commit: true, minimise_valleys: true, ..rules.clone() };
    let instance = Instance::new(problem, rules.lazy);
    let mut flood = Flood::new(&instance, &rules, 0);
    let event = flood.run(effort.states, u64::MAX, effort.memory, effort.stop);
    effort.spent += flood.expanded;
    let Event::Solved(heads) = event else {
        effort.is_cut |= flood.expanded < effort.states;
        return None;
    };
    let order = instance.expand(&heads);
    let costs = steps_of(&instance.problem, &order);
    let mut steps: Vec<ProfileStep> = Vec::new();
    let mut start = 0;
    let mut level = None;
    for (at, committed) in flood.commitments() {
        let end = instance.expand(&heads[..committed]).len();
        let during = costs[start..end].iter().map(|cost| cost.during).max().unwrap_or(0);
        let after = costs[..end].last().map_or(instance.problem.at_start(), |cost| cost.after);
        match steps.last_mut() {
            // Nothing stands still between two valleys of the same level.
            Some(last) if level == Some(at) => {
                last.ops.extend_from_slice(&order[start..end]);
                last.during = last.during.max(during);
                last.after = after;
            }
            _ => steps.push(ProfileStep { ops: order[start..end].to_vec(), during, after }),
        }
        level = Some(at);
        start = end;
    }
    debug_assert_eq!(start, order.len(), "the end is the lowest set, so it is committed to");
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;

    #[test]
    fn a_profile_is_an_order_of_least_peak_told_by_its_valleys() {
        for problem in problems() {
            let mut effort =
                ProfileWork { states: u64::MAX, spent: 0, memory: u64::MAX, stop: NEVER, is_cut: false };
            let profile = of(&problem, &Rules::default(), &mut effort).unwrap();
            let order: Vec<u32> = profile.iter().flat_map(|step| step.ops.clone()).collect();
            assert!(is_order(&problem, &order));
            let mut costs = steps_of(&problem, &order).into_iter();
            let (mut peak, mut before) = (problem.at_start(), problem.at_start());
            for step in &profile {
                let own: Vec<_> = costs.by_ref().take(step.ops.len()).collect();
                assert_eq!(own.iter().map(|cost| cost.during).max(), Some(step.during));
                assert_eq!(own.last().map(|cost| cost.after), Some(step.after));
                // It stands still only where it is no higher than on the way there.
                assert!(own.iter().all(|cost| cost.after >= step.after.min(before)));
                (peak, before) = (peak.max(step.during), step.after);
            }
            assert_eq!(peak, least_peak(&problem));
        }
    }

    #[test]
    fn too_few_states_give_no_profile() {
        let problem = problems().max_by_key(Problem::len).unwrap();
        let mut effort = ProfileWork { states: 1, spent: 0, memory: u64::MAX, stop: NEVER, is_cut: false };
        assert!(of(&problem, &Rules::default(), &mut effort).is_none());
        assert!(!effort.is_cut, "the same states would not do next time either");
    }
}
