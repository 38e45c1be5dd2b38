//! Waypoints: sets of executed ops that some optimal order passes through. Between two of them is a problem of its own, and the
//! optimum of the whole is the largest of the parts'.
//!
//! **Rule R4, global.** *A minimiser `M` of f over all sets that can have run is a waypoint.* Proof sketch. Of any chain `C_i`,
//! take `C_i ∩ M` and then `C_i ∪ M`: by submodularity and minimality both have at most `f(C_i)` in use.
//!
//! **Rule R5, local.** *Let `K` be the ops of `M` that all minimal ops outside `M` depend on, and `K'` be `M` with
//! every op that does not depend on all maximal ops of `M`. If `f(M) <= f(W)` for all `W` from `K` to `M` and from `M`
//! to `K'`, then `M` is a waypoint.* Proof sketch. A set `C` of a chain that is not inside `M` contains a minimal op
//! outside `M`, hence `K`; one that does not contain `M` misses a maximal op of `M`, hence is inside `K'` after union
//! with `M`. So `C ∩ M` and `C ∪ M` lie in the two intervals, and the argument of R4 applies. All prefixes of one order
//! that pass can be used together: restricting to a part only shrinks the intervals. A cut node is the case in which
//! both intervals are a single set.

use super::closure::Closure;
use super::{Rules, cuts};
use crate::segment::Segment;
use crate::walk::steps_of;
use crate::{Problem, bits, divide};

/// Splits a problem at waypoints: consecutive groups of its ops. `order` suggests where to look.
pub(super) fn split(
    problem: &Problem,
    order: &[u32],
    rules: &Rules,
    stop: &dyn Fn() -> bool,
) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    if !rules.global_waypoints && !rules.local_waypoints {
        return vec![order.to_vec()];
    }
    let whole: Vec<u32> = (0..problem.ops).collect();
    let mut position = vec![0_u32; problem.len()];
    for (i, &op) in order.iter().enumerate() {
        position[op as usize] = i as u32;
    }
    let mut open: Vec<Segment> = if rules.local_waypoints {
        problem.segments(&divide::pieces(problem))
    } else {
        vec![Segment { problem: problem.clone(), ops: whole }]
    };
    open.reverse();
    while let Some(segment) = open.pop() {
        let n = segment.problem.len();
        let mut local: Vec<u32> = (0..n as u32).collect();
        local.sort_by_key(|&op| position[segment.ops[op as usize] as usize]);
        if n <= 1 || stop() {
            groups.push(segment.lift(&local).collect());
            continue;
        }
        let global = if rules.global_waypoints { global(&segment.problem) } else { Vec::new() };
        if !global.is_empty() {
            // Each part may have minima of its own.
            let inner = segment.problem.segments(&pieces_between(&global, &local));
            let named = |part: Segment| Segment { ops: segment.lift(&part.ops).collect(), ..part };
            open.extend(inner.into_iter().map(named).rev());
            continue;
        }
        let found = if rules.local_waypoints { prefixes(&segment.problem, &local, stop) } else { Vec::new() };
        let mut start = 0;
        for end in found.into_iter().chain([n]) {
            groups.push(segment.lift(&local[start..end]).collect());
            start = end;
        }
    }
    groups
}

/// The ops of `order` grouped by the first of the rising `sets` that contains them.
fn pieces_between(sets: &[Vec<u64>], order: &[u32]) -> Vec<Vec<u32>> {
    let mut pieces = vec![Vec::new(); sets.len() + 1];
    for &op in order {
        let piece = sets.iter().position(|set| bits::contains(set, op)).unwrap_or(sets.len());
        pieces[piece].push(op);
    }
    pieces
}

/// R4: the least and the greatest minimiser, if they are neither empty nor everything.
fn global(problem: &Problem) -> Vec<Vec<u64>> {
    let minimum = cuts::minimum(problem);
    let size = |set: &[u64]| set.iter().map(|word| word.count_ones()).sum::<u32>();
    let mut sets: Vec<Vec<u64>> = [minimum.least, minimum.greatest]
        .into_iter()
        .filter(|set| (1..problem.ops).contains(&size(set)))
        .collect();
    sets.dedup();
    sets
}

/// R5: the lengths of the prefixes of `order` that are waypoints.
fn prefixes(problem: &Problem, order: &[u32], stop: &dyn Fn() -> bool) -> Vec<usize> {
    let after: Vec<u64> = steps_of(problem, order).iter().map(|step| step.after).collect();
    let closure = Closure::new(problem);
    let mut found = Vec::new();
    let mut prefix = vec![0; problem.words()];
    for end in 1..order.len() {
        bits::insert(&mut prefix, order[end - 1]);
        let is_low = after[end] >= after[end - 1] && (end < 2 || after[end - 2] >= after[end - 1]);
        if !is_low {
            continue;
        }
        if stop() {
            break;
        }
        let (lowest, highest) = surroundings(problem, &closure, &prefix);
        if passes_quickly(order, &after, end, &lowest, &highest)
            && is_lowest_between(problem, &lowest, &prefix, after[end - 1])
            && is_lowest_between(problem, &prefix, &highest, after[end - 1])
        {
            found.push(end);
        }
    }
    found
}

/// `K` and `K'` of a set.
fn surroundings(problem: &Problem, closure: &Closure, set: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut lowest = set.to_vec();
    let mut highest = set.to_vec();
    for op in 0..problem.ops {
        if bits::contains(set, op) {
            let is_maximal = problem.successors[op as usize].iter().all(|&s| !bits::contains(set, s));
            if is_maximal {
                for (word, &descendants) in highest.iter_mut().zip(closure.descendants.row(op)) {
                    *word |= !descendants;
                }
            }
        } else if problem.predecessors[op as usize].iter().all(|&p| bits::contains(set, p)) {
            for (word, &ancestors) in lowest.iter_mut().zip(closure.ancestors.row(op)) {
                *word &= ancestors;
            }
        }
    }
    // The complement above also set the bits behind the last op.
    let rest = problem.ops % 64;
    if let Some(last) = highest.last_mut()
        && rest != 0
    {
        *last &= (1 << rest) - 1;
    }
    (lowest, highest)
}

/// Rejects most prefixes without a flow: is another prefix inside the intervals lower?
fn passes_quickly(order: &[u32], after: &[u64], end: usize, lowest: &[u64], highest: &[u64]) -> bool {
    let here = after[end - 1];
    for shorter in (1..end).rev() {
        if bits::contains(lowest, order[shorter]) {
            break;
        }
        if after[shorter - 1] < here {
            return false;
        }
    }
    order[end..]
        .iter()
        .zip(&after[end..])
        .take_while(|(op, _)| bits::contains(highest, **op))
        .all(|(_, &f)| f >= here)
}

/// Is f at least `least` on every set from `low` to `high`?
fn is_lowest_between(problem: &Problem, low: &[u64], high: &[u64], least: u64) -> bool {
    let between: Vec<u32> = bits::iter(high).filter(|&op| !bits::contains(low, op)).collect();
    if between.is_empty() {
        return true;
    }
    let segment = problem.segment(low, problem.in_use_after(low), &between);
    cuts::minimum(&segment.problem).value >= least
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;

    #[test]
    fn the_optimum_of_the_whole_is_the_largest_of_the_parts() {
        let mut groups = 0;
        for problem in problems() {
            let least = least_peak(&problem);
            for rule in ["global-waypoints", "local-waypoints", ""] {
                let mut rules = Rules::default();
                rules.turn_off(rule);
                let found = split(&problem, &problem.topological, &rules, NEVER);
                assert!(is_order(&problem, &found.concat()), "{rule}");
                groups += found.len();
                let parts = problem.segments(&found);
                let peaks = parts.iter().map(|part| least_peak(&part.problem));
                assert_eq!(peaks.max(), Some(least), "{rule}");
            }
        }
        assert!(groups > 1500, "{groups}");
    }
}
