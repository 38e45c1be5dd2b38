//! Every search ends when it is told to, with a placement that holds.

use crate::common::{assert_valid, buffers_of};
use serenity_arena::{Buffer, CancelFlag, Options, Planner, Problem, Proof, StopReason, place};
use serenity_judges::spent;
use serenity_search::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Many sizes that hardly fit one another: nobody proves this in a second.
fn hard() -> Problem {
    Problem::new(buffers_of(&mut Random(3), 400, 90, 99_991), 1).expect("sizes and lifetimes are sound")
}

#[test]
fn time() {
    for (_, planner) in Planner::all() {
        let mut options = Options::new(planner);
        options.limits = options.limits.within(Duration::from_millis(200));
        let (placement, time) = spent(|| place(&hard(), &options));
        assert_valid(&hard(), &placement);
        assert!(time < Duration::from_secs(20), "{time:?}");
    }
}

#[test]
fn cancelled_before_it_begins() {
    let mut options = Options::default();
    options.limits.cancel = CancelFlag::default();
    options.limits.cancel.cancel();
    let placement = place(&hard(), &options);
    assert_valid(&hard(), &placement);
    assert_eq!(placement.proof, Proof::Gap { stopped: StopReason::Cancelled });
}

#[test]
fn work_ends_the_same_search_at_the_same_point() {
    let mut options = Options::default();
    options.limits.work = Some(1);
    let [first, second] = [(); 2].map(|()| place(&hard(), &options));
    assert_valid(&hard(), &first);
    assert_eq!(first.proof, Proof::Gap { stopped: StopReason::Work });
    assert_eq!(
        (first.offsets, first.bound, first.stats.states),
        (second.offsets, second.bound, second.stats.states)
    );
}

#[test]
fn memory() {
    let mut options = Options::default();
    options.limits.memory = Some(100);
    let placement = place(&hard(), &options);
    assert_valid(&hard(), &placement);
    assert_eq!(placement.proof, Proof::Gap { stopped: StopReason::Memory });
}

#[test]
fn a_capacity_is_met_or_out_of_reach() {
    // Alive at most 12; no placement within 12 or 13 exists, as the exact planner proves.
    let buffers = vec![
        Buffer::new(5, 0..3),
        Buffer::new(2, 0..2),
        Buffer::new(5, 1..4),
        Buffer::new(4, 2..5),
        Buffer::new(3, 3..6),
        Buffer::new(5, 4..7),
    ];
    let problem = Problem::new(buffers, 1).unwrap();
    let least = place(&problem, &Options::default());
    assert_eq!(least.proof, Proof::Optimal);
    let within = |capacity| place(&problem, &Options { capacity: Some(capacity), ..Options::default() });
    assert!(within(least.height).height <= least.height);
    assert!(within(least.height + 3).height <= least.height + 3);
    let too_little = within(least.height - 1);
    assert_valid(&problem, &too_little);
    assert!(too_little.bound >= least.height);
}

#[test]
fn progress_is_reported() {
    let calls = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&calls);
    let mut options = Options::default();
    options.limits = options.limits.within(Duration::from_millis(600));
    options.progress = Some(Arc::new(move |progress| {
        assert!(progress.bound <= progress.best);
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    let placement = place(&hard(), &options);
    assert!(placement.proof == Proof::Optimal || calls.load(Ordering::Relaxed) > 0);
}

#[test]
fn the_same_problem_gives_the_same_placement() {
    let problem = Problem::new(buffers_of(&mut Random(11), 60, 40, 500), 16).unwrap();
    let once = place(&problem, &Options::default());
    let twice = place(&problem, &Options::default());
    assert_eq!(
        (once.offsets, once.bound, once.stats.states),
        (twice.offsets, twice.bound, twice.stats.states)
    );
}

#[test]
fn strange_problems_have_placements() {
    for buffers in [
        vec![],
        vec![Buffer::new(0, 0..1)],
        vec![
            Buffer::new(5, i64::MIN..i64::MAX),
            Buffer::new(5, i64::MAX - 1..i64::MAX),
            Buffer::new(5, i64::MIN..i64::MIN + 1),
        ],
        vec![Buffer::new(5, 0..2).at(7), Buffer::new(5, 0..2).at(7)],
        vec![Buffer::new(1 << 58, 0..2), Buffer::new(1 << 58, 0..2), Buffer::new(1, 1..2).aligned(1 << 40)],
    ] {
        let problem = Problem::new(buffers, 1).unwrap();
        let placement = place(&problem, &Options::default());
        assert_valid(&problem, &placement);
        assert_eq!(placement.proof, Proof::Optimal);
    }
}
