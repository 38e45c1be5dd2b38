//! The scheduler and the allocator together, without a neural network: first the order of least memory, then offsets.
//!
//! `cargo run -p serenity-ml --example order_and_place`
#![allow(clippy::print_stdout)]

use serenity::arena::{self, place};
use serenity::schedule::{self, Buffer, OpIndex, lifetimes, schedule};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let [load, left, left_pool, right, right_pool, join] = [0, 1, 2, 3, 4, 5].map(OpIndex);
    let buffers = vec![
        Buffer::produced(16, load, [left, right]),
        Buffer::produced(64, left, [left_pool]),
        Buffer::produced(8, left_pool, [join]),
        Buffer::produced(64, right, [right_pool]),
        Buffer::produced(8, right_pool, [join]),
        Buffer::produced(4, join, []).kept(),
    ];
    let problem = schedule::Problem::new(6, buffers.clone(), [])?;
    let best = schedule(&problem, &schedule::Options::default());

    // The two crates do not know each other; they share one convention: an order becomes half-open ranges of steps.
    let lives = lifetimes(&buffers, &best.order);
    let placed = buffers.iter().zip(lives).map(|(buffer, life)| arena::Buffer::new(buffer.bytes, life));
    let problem = arena::Problem::new(placed.collect(), 4)?;
    let placement = place(&problem, &arena::Options::default());

    println!("peak of the order: {} bytes, arena: {} bytes", best.peak, placement.height);
    for (buffer, offset) in problem.buffers().iter().zip(&placement.offsets) {
        println!(
            "{:>3} bytes at offset {offset:>3} in steps {}..{}",
            buffer.size, buffer.lower, buffer.upper
        );
    }
    // No order has a lower peak, and here no byte is lost to gaps: the arena is as small as the peak.
    assert_eq!((best.peak, placement.height), (88, 88));
    Ok(())
}
