//! The allocator alone: offsets of buffers with known lifetimes in one block of memory, as low as possible.
//!
//! `cargo run -p serenity-arena --example place`
#![allow(clippy::print_stdout)]

use serenity_arena::{Buffer, Options, Overlap, Planner, Problem, ProblemError, Proof, place};

fn main() -> Result<(), ProblemError> {
    // A size in bytes, and the steps in which the buffer is in use: `0..2` is steps 0 and 1.
    let buffers = vec![
        Buffer::new(30, 0..2),
        Buffer::new(20, 1..3),
        Buffer::new(10, 2..4),
        // Anything with a start and an end can be placed; steps need not be ops, nor begin at 0.
        Buffer::new(40, 3..5),
    ];
    // Every offset is a multiple of 2.
    let problem = Problem::new(buffers.clone(), 2)?;
    let best = place(&problem, &Options::default());
    // 20 + 30 bytes are in use at step 1, so no placement is lower.
    assert_eq!((best.height, best.bound, best.proof), (50, 50, Proof::Optimal));

    // The planners of some runtimes are here too, to compare with. This one places the largest buffer first.
    let theirs = place(&problem, &Options::new(Planner::Tflm));
    assert_eq!(theirs.height, 60);

    for (buffer, offset) in buffers.iter().zip(&best.offsets) {
        let (from, to) = (offset, offset + buffer.size);
        println!("steps {}..{}: bytes {from}..{to}", buffer.lower, buffer.upper);
    }

    // The op at step 1 reads buffer 0 for the last time and writes buffer 1 element by element, so 1 may lie over 0.
    let problem = problem.with_overlaps(vec![Overlap::below(1, 0, 0)])?;
    let in_place = place(&problem, &Options::default());
    assert_eq!(in_place.offsets[0], in_place.offsets[1]);

    // A device decides some offsets: this buffer must begin at byte 16, where a DMA engine reads it.
    let fixed = Problem::new(vec![buffers[0].at(16), buffers[1], buffers[2], buffers[3]], 2)?;
    let around = place(&fixed, &Options::default());
    assert_eq!(around.offsets[0], 16);
    println!(
        "lowest arena: {}, in place: {}, around byte 16: {}",
        best.height, in_place.height, around.height
    );
    Ok(())
}
