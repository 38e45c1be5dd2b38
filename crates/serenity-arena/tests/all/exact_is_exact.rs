//! The exact planner against all placements there are, on thousands of tiny problems.

use crate::common::{Numbers, agree, assert_valid, buffers_of, is_allowed};
use serenity_arena::{Buffer, Options, Overlap, Problem, Proof, Reserved, place};

/// The least height of any placement, by trying them all.
fn least_height(problem: &Problem, at_most: u64) -> u64 {
    let mut offsets = Vec::new();
    (0..=at_most).find(|&height| fits(problem, height, &mut offsets)).expect("one was found")
}

fn fits(problem: &Problem, height: u64, offsets: &mut Vec<u64>) -> bool {
    let index = offsets.len();
    let Some(buffer) = problem.buffers().get(index) else { return true };
    let candidates: Vec<u64> = match (buffer.size, buffer.offset) {
        (0, offset) => vec![offset.unwrap_or(0)],
        (size, Some(offset)) if offset + size <= height => vec![offset],
        (size, None) if size <= height => (0..=height - size).collect(),
        _ => vec![],
    };
    for at in candidates {
        let is_free =
            offsets.iter().enumerate().all(|(before, &other)| agree(problem, index, at, before, other));
        if is_free && (buffer.size == 0 || is_allowed(problem, index, at)) {
            offsets.push(at);
            let found = fits(problem, height, offsets);
            offsets.pop();
            if found {
                return true;
            }
        }
    }
    false
}

/// The least height of any placement of a plain problem: first fit in every order, which yields every placement whose
/// buffers rest on one another.
fn least_by_orders(buffers: &[Buffer]) -> u64 {
    let mut best = buffers.iter().map(|buffer| buffer.size).sum();
    let left: Vec<&Buffer> = buffers.iter().filter(|buffer| buffer.size > 0).collect();
    let alive = |step| left.iter().filter(|b| b.first <= step && step <= b.last).map(|b| b.size).sum::<u64>();
    let enough = left.iter().map(|buffer| alive(buffer.first)).max().unwrap_or(0);
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

fn check(seed: u64, count: usize, mut make: impl FnMut(&mut Numbers) -> Problem) {
    let mut numbers = Numbers(seed);
    let searched = (0..count).filter(|_| {
        let problem = make(&mut numbers);
        assert_exact(&problem, |height| least_height(&problem, height))
    });
    // A test in which first fit is always enough shows nothing about the search.
    let searched = searched.count();
    assert!(searched > count / 25, "only {searched} of {count} were searched");
}

fn plain(numbers: &mut Numbers) -> Vec<Buffer> {
    let (count, steps) = (3 + numbers.below(5), 2 + numbers.below(6));
    buffers_of(numbers, count, steps, 4)
}

/// Permissions for some of the pairs that are handed over.
fn overlaps(numbers: &mut Numbers, buffers: &[Buffer]) -> Vec<Overlap> {
    let mut overlaps = Vec::new();
    for (writer, y) in buffers.iter().enumerate() {
        for (over, x) in buffers.iter().enumerate() {
            if y.first == x.last && x.first < y.first && !numbers.one_in(4) {
                overlaps.push(match numbers.below(4) {
                    0 => Overlap::same_offset(writer, over),
                    1 => Overlap::below(writer, over, 0),
                    2 => Overlap::either_way(writer, over, numbers.below(4), numbers.more_than_0(4)),
                    _ => Overlap::below(writer, over, numbers.below(4)),
                });
            }
        }
    }
    overlaps
}

fn fix_some(numbers: &mut Numbers, buffers: &mut [Buffer]) {
    for buffer in buffers {
        if numbers.one_in(4) {
            buffer.offset = Some(numbers.below(8));
        }
    }
}

#[test]
fn plain_problems() {
    let mut numbers = Numbers(1);
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
fn fixed_offsets_and_reserved_ranges() {
    check(3, 3000, |numbers| {
        let mut buffers = plain(numbers);
        fix_some(numbers, &mut buffers);
        let range = |_| {
            let (a, b) = (numbers.step(6), numbers.step(6));
            Reserved { offset: numbers.below(9), size: numbers.below(4), first: a.min(b), last: a.max(b) }
        };
        let reserved = (0..2).map(range).collect();
        Problem::new(buffers, 1 + numbers.below(2)).unwrap().with_reserved(reserved).unwrap()
    });
}

#[test]
fn overlapping_pairs() {
    check(4, 6000, |numbers| {
        let buffers = plain(numbers);
        let overlaps = overlaps(numbers, &buffers);
        Problem::new(buffers, 1).unwrap().with_overlaps(overlaps).unwrap()
    });
}

#[test]
fn chains_in_place() {
    // Each buffer is handed over to the next, and some live on: overlaps drift, and must not be taken for granted.
    check(5, 3000, |numbers| {
        let mut buffers: Vec<Buffer> = Vec::new();
        let links = 4 + numbers.step(3);
        for link in 0..links {
            buffers.push(Buffer::new(1 + numbers.below(5), link, link + 1));
        }
        let more = numbers.below(3);
        buffers.extend(buffers_of(numbers, more, links.cast_unsigned(), 3));
        let overlaps = overlaps(numbers, &buffers);
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
        let overlaps = overlaps(numbers, &buffers);
        let reserved = vec![Reserved {
            offset: numbers.below(9),
            size: numbers.below(4),
            first: 0,
            last: numbers.step(5),
        }];
        let problem = Problem::new(buffers, 1 + numbers.below(3)).unwrap();
        problem.with_overlaps(overlaps).unwrap().with_reserved(reserved).unwrap()
    });
}
