//! Whatever a planner does, no two buffers that live together may share a byte.

use crate::common::{assert_valid, buffers_of};
use serenity_arena::{FOREVER, Options, Planner, Problem, place};
use serenity_search::Random;

#[test]
fn no_two_live_buffers_share_a_byte() {
    let mut numbers = Random(1);
    for _ in 0..1000 {
        let (count, steps) = (numbers.below(40), 1 + numbers.below(30));
        let largest = [5, 100, 5000][numbers.below(3) as usize];
        let mut buffers = buffers_of(&mut numbers, count, steps, largest);
        for buffer in &mut buffers {
            if numbers.one_in(10) {
                buffer.upper = FOREVER;
            }
        }
        let alignment = [1, 16, 64, 24][numbers.below(4) as usize];
        for buffer in &mut buffers {
            // One of the planners rounds sizes, the others do not: let that make no difference here.
            buffer.size = buffer.size.next_multiple_of(alignment);
        }
        let problem = Problem::new(buffers, alignment).unwrap();
        for (_, planner) in Planner::all() {
            assert_valid(&problem, &place(&problem, &Options::new(planner)));
        }
    }
}
