//! Whatever a planner does, no two buffers that live together may share a byte.

use serenity_arena::{Buffer, FOREVER, Options, Placement, Planner, Problem, place};

/// A small generator of numbers: the tests need variety, not quality.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn random_problem(numbers: &mut Numbers) -> Problem {
    let steps = 1 + numbers.below(30);
    let count = numbers.below(40);
    let largest = [5, 100, 5000][numbers.below(3) as usize];
    let buffers = (0..count).map(|_| {
        let (a, b) = (numbers.below(steps) as i64, numbers.below(steps) as i64);
        let last = if numbers.below(10) == 0 { FOREVER } else { a.max(b) };
        Buffer::new(numbers.below(largest), a.min(b), last)
    });
    let buffers = buffers.collect();
    Problem::new(buffers, [1, 16, 64, 24][numbers.below(4) as usize]).expect("sizes and lifetimes are sound")
}

fn assert_valid(problem: &Problem, placement: &Placement) {
    let placed: Vec<(&Buffer, u64)> =
        problem.buffers().iter().zip(placement.offsets.iter().copied()).collect();
    for (index, &(a, at)) in placed.iter().enumerate() {
        assert!(at % problem.alignment() == 0, "buffer {index} at {at} is not aligned");
        assert!(at + a.size <= placement.height, "buffer {index} sticks out");
        for &(b, other) in &placed[..index] {
            let apart = at + a.size <= other || other + b.size <= at;
            assert!(!a.lives_with(b) || apart, "{a:?} at {at} meets {b:?} at {other}");
        }
    }
    assert!(placement.bound <= placement.height);
}

#[test]
fn no_two_live_buffers_share_a_byte() {
    let mut numbers = Numbers(1);
    for _ in 0..2000 {
        let problem = random_problem(&mut numbers);
        for (_, planner) in Planner::all() {
            assert_valid(&problem, &place(&problem, &Options::new(planner)));
        }
    }
}
