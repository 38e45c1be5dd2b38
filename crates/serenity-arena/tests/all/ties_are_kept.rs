//! Groups that move as one, against all placements there are.

use crate::common::{Rules, buffers_of, overlaps};
use serenity_arena::{
    Buffer, Limits, Options, Planner, Problem, ProblemError, Proof, StopReason, Tie, place,
};
use serenity_search::Random;
use std::time::Duration;

/// Ties that can be kept; some of those that close a circle.
fn ties(numbers: &mut Random, count: usize, unit: u64) -> Vec<Tie> {
    let mut ties: Vec<Tie> = Vec::new();
    let mut at = Vec::new();
    for _ in 0..count {
        at.push(numbers.below(4) * unit);
    }
    for _ in 0..=numbers.below(count as u64) {
        let (a, b) = (numbers.below(count as u64) as usize, numbers.below(count as u64) as usize);
        let (buffer, to) = if at[a] < at[b] { (b, a) } else { (a, b) };
        ties.push(Tie { buffer, to, distance: at[buffer] - at[to] });
    }
    ties
}

fn problem(numbers: &mut Random) -> Result<Problem, ProblemError> {
    let alignment = if numbers.one_in(2) { 1 } else { 16 };
    let (count, steps) = (3 + numbers.below(5), 2 + numbers.below(5));
    let mut buffers = buffers_of(numbers, count, steps, 4);
    for buffer in &mut buffers {
        buffer.size *= alignment;
        if alignment > 1 && numbers.one_in(3) {
            buffer.size = buffer.size.saturating_sub(numbers.below(20));
        }
        if numbers.one_in(12) {
            buffer.offset = Some(numbers.below(6) * alignment);
        }
        if numbers.one_in(40) {
            buffer.alignment = 2 * alignment;
        }
    }
    let overlaps = overlaps(numbers, &buffers, alignment);
    let ties = if numbers.one_in(5) { vec![] } else { ties(numbers, buffers.len(), alignment) };
    Problem::new(buffers, alignment)?.with_overlaps(overlaps)?.with_ties(ties)
}

#[test]
fn no_placement_is_lower_than_what_is_proved() {
    let mut numbers = Random(7);
    let (mut compared, mut above_simple_bound, mut optimal) = (0, 0, 0);
    while compared < 1500 {
        let Ok(problem) = problem(&mut numbers) else { continue };
        compared += 1;
        let rules = Rules::new(&problem);
        let mut options = Options::default();
        options.limits.work = Some(100_000);
        let exact = place(&problem, &options);
        let climbed = place(&problem, &Options { planner: Planner::HillClimb, ..options });
        rules.assert_kept(&exact);
        rules.assert_kept(&climbed);
        let least = rules.least_height(exact.height);
        assert!(exact.bound <= least && climbed.bound <= least, "{least}: {exact:?} {climbed:?} {problem:?}");
        if exact.proof == Proof::Optimal {
            assert_eq!(exact.height, least, "{problem:?}");
        }
        above_simple_bound += usize::from(climbed.bound < least);
        optimal += usize::from(exact.proof == Proof::Optimal);
    }
    // A test in which the bound is always met shows nothing about the search.
    println!("{above_simple_bound} above the bound, {optimal} proved");
    assert!(above_simple_bound > 200 && optimal > 1400);
}

#[test]
fn limits_end_it_with_a_placement_that_holds() {
    let mut numbers = Random(3);
    let buffers = buffers_of(&mut numbers, 300, 90, 99_991);
    let ties = (0..60).map(|i| Tie { buffer: i, to: i + 60, distance: 1000 * (i as u64 % 7) }).collect();
    let problem = Problem::new(buffers, 1).unwrap().with_ties(ties).unwrap();
    let rules = Rules::new(&problem);
    for (limits, reason) in [
        (Limits { work: Some(1), ..Limits::default() }, StopReason::Work),
        (Limits { work: Some(1_000_000), ..Limits::default() }, StopReason::Work),
        (Limits { memory: Some(100), ..Limits::default() }, StopReason::Memory),
        (Limits::lasting(Duration::ZERO), StopReason::Time),
        (Limits { work: None, ..Limits::default() }, StopReason::Heuristic),
    ] {
        let options = Options { limits, ..Options::default() };
        let [once, twice] = [(); 2].map(|()| place(&problem, &options));
        rules.assert_kept(&once);
        assert_eq!(once.proof, Proof::Gap { stopped: reason });
        assert!(
            reason.is_by_the_clock()
                || (&once.offsets, once.stats.states) == (&twice.offsets, twice.stats.states)
        );
    }
    let generous = Options { capacity: Some(u64::MAX), ..Options::default() };
    assert_eq!(place(&problem, &generous).proof, Proof::Gap { stopped: StopReason::Capacity });
}

#[test]
fn planners_of_runtimes_place_every_buffer_for_itself() {
    let buffers = vec![Buffer::new(16, 0..2), Buffer::new(16, 0..2)];
    let problem = Problem::new(buffers, 16).unwrap();
    let tied = problem.clone().with_ties(vec![Tie { buffer: 1, to: 0, distance: 0 }]).unwrap();
    for planner in [Planner::Tflm, Planner::LiteRt, Planner::SimpleArena] {
        let options = Options::new(planner);
        assert_eq!(place(&tied, &options).offsets, place(&problem, &options).offsets);
    }
    assert_eq!(place(&tied, &Options::default()).height, 16);
}
