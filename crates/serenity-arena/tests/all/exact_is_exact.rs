//! The exact planner against all placements there are, on thousands of tiny problems.

use crate::common::{Rules, assert_valid, buffers_of, overlaps};
use serenity_arena::{Buffer, Options, Problem, Proof, place};
use serenity_search::Random;

/// The least height of any placement of a plain problem: first fit in every order, which yields every placement whose
/// buffers rest on one another.
fn least_by_orders(buffers: &[Buffer]) -> u64 {
    let mut best = buffers.iter().map(|buffer| buffer.size).sum();
    let left: Vec<&Buffer> = buffers.iter().filter(|buffer| buffer.size > 0).collect();
    let alive = |step| left.iter().filter(|b| b.lower <= step && step < b.upper).map(|b| b.size).sum::<u64>();
    let enough = left.iter().map(|buffer| alive(buffer.lower)).max().unwrap_or(0);
    try_orders(&left, &mut Vec::new(), 0, enough, &mut best);
    best
}

fn try_orders<'a>(
    left: &[&'a Buffer],
    placed: &mut Vec<(&'a Buffer, u64)>,
    height: u64,
    enough: u64,
    best: &mut u64,
) {
    if left.is_empty() {
        *best = height.min(*best);
    }
    for (index, &buffer) in left.iter().enumerate() {
        let meets = |&&(other, _): &&(&Buffer, u64)| other.lives_with(buffer);
        let tops = placed.iter().filter(meets).map(|&(other, offset)| offset + other.size);
        let is_free = |&at: &u64| {
            placed
                .iter()
                .filter(meets)
                .all(|&(other, offset)| at + buffer.size <= offset || offset + other.size <= at)
        };
        let at = tops.chain([0]).filter(is_free).min().expect("on top is free");
        let height = height.max(at + buffer.size);
        if height < *best && *best > enough {
            placed.push((buffer, at));
            let rest: Vec<&Buffer> =
                left.iter().enumerate().filter(|&(i, _)| i != index).map(|(_, &b)| b).collect();
            try_orders(&rest, placed, height, enough, best);
            placed.pop();
        }
    }
}

/// Compares with `least`; was there anything to search?
fn assert_exact(problem: &Problem, least: impl Fn(u64) -> u64) -> bool {
    let placement = place(problem, &Options::default());
    assert_valid(problem, &placement);
    assert_eq!(placement.proof, Proof::Optimal);
    assert_eq!(placement.height, placement.bound);
    assert_eq!(placement.height, least(placement.height), "{problem:?} {placement:?}");
    placement.stats.states > 0
}

fn check(seed: u64, count: usize, mut make: impl FnMut(&mut Random) -> Problem) {
    let mut numbers = Random(seed);
    let searched = (0..count).filter(|_| {
        let problem = make(&mut numbers);
        assert_exact(&problem, |height| Rules::new(&problem).least_height(height))
    });
    // A test in which first fit is always enough shows nothing about the search.
    let searched = searched.count();
    assert!(searched > count / 25, "only {searched} of {count} were searched");
}

fn plain(numbers: &mut Random) -> Vec<Buffer> {
    let (count, steps) = (3 + numbers.below(5), 2 + numbers.below(6));
    buffers_of(numbers, count, steps, 4)
}

fn fix_some(numbers: &mut Random, buffers: &mut [Buffer]) {
    for buffer in buffers {
        if numbers.one_in(4) {
            buffer.offset = Some(numbers.below(8));
        }
    }
}

#[test]
fn plain_problems() {
    let mut numbers = Random(1);
    let searched = (0..2000).filter(|_| {
        let buffers = buffers_of(&mut numbers, 9, 12, 9);
        let problem = Problem::new(buffers, 1).unwrap();
        assert_exact(&problem, |_| least_by_orders(problem.buffers()))
    });
    assert!(searched.count() > 40);
}

#[test]
fn alignment() {
    check(2, 2000, |numbers| {
        let mut buffers = plain(numbers);
        for buffer in &mut buffers {
            buffer.alignment = 1 + numbers.below(3);
        }
        Problem::new(buffers, 1 + numbers.below(3)).unwrap()
    });
}

#[test]
fn fixed_offsets() {
    check(3, 3000, |numbers| {
        let mut buffers = plain(numbers);
        fix_some(numbers, &mut buffers);
        Problem::new(buffers, 1 + numbers.below(2)).unwrap()
    });
}

#[test]
fn overlapping_pairs() {
    check(4, 6000, |numbers| {
        let buffers = plain(numbers);
        let overlaps = overlaps(numbers, &buffers, 1);
        Problem::new(buffers, 1).unwrap().with_overlaps(overlaps).unwrap()
    });
}

#[test]
fn chains_in_place() {
    // Each buffer is handed over to the next, and some live on: overlaps drift, and must not be taken for granted.
    check(5, 3000, |numbers| {
        let mut buffers: Vec<Buffer> = Vec::new();
        let links = 4 + (numbers.below(3) as i64);
        for link in 0..links {
            buffers.push(Buffer::new(1 + numbers.below(5), link..link + 2));
        }
        let more = numbers.below(3);
        buffers.extend(buffers_of(numbers, more, links as u64, 3));
        let overlaps = overlaps(numbers, &buffers, 1);
        Problem::new(buffers, 1 + numbers.below(2)).unwrap().with_overlaps(overlaps).unwrap()
    });
}

#[test]
fn everything_at_once() {
    check(6, 4000, |numbers| {
        let mut buffers = plain(numbers);
        fix_some(numbers, &mut buffers);
        if numbers.one_in(2) {
            for buffer in &mut buffers {
                buffer.alignment = 1 + numbers.below(3);
            }
        }
        let overlaps = overlaps(numbers, &buffers, 1);
        Problem::new(buffers, 1 + numbers.below(3)).unwrap().with_overlaps(overlaps).unwrap()
    });
}
