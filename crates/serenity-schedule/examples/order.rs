//! The scheduler alone: the order of six jobs that needs the least memory, with a proof.
//!
//! `cargo run -p serenity-schedule --example order`
#![allow(clippy::print_stdout)]

use serenity_schedule::{
    Algorithm, Buffer, OpIndex, Options, Problem, ProblemError, Proof, lifetimes, schedule,
};

const NAMES: [&str; 6] = ["load", "left", "left pool", "right", "right pool", "join"];

fn main() -> Result<(), ProblemError> {
    let [load, left, left_pool, right, right_pool, join] = [0, 1, 2, 3, 4, 5].map(OpIndex);
    // A buffer is in use from the op that writes it until the last op that reads it. Ops wait for what they read.
    let buffers = vec![
        Buffer::produced(16, load, [left, right]),
        Buffer::produced(64, left, [left_pool]),
        Buffer::produced(8, left_pool, [join]),
        Buffer::produced(64, right, [right_pool]),
        Buffer::produced(8, right_pool, [join]),
        // The result stays in use after the last op.
        Buffer::produced(4, join, []).kept(),
    ];
    // The last argument adds edges that no buffer implies; here there are none.
    let problem = Problem::new(NAMES.len() as u32, buffers.clone(), [])?;

    let breadth_first = schedule(&problem, &Options { algorithm: Algorithm::Kahn, ..Options::default() });
    let best = schedule(&problem, &Options::default());
    println!("breadth first: {} bytes, best: {} bytes", breadth_first.peak, best.peak);
    // Both branches at once hold both large buffers; one after the other, only one of them.
    assert_eq!((breadth_first.peak, best.peak), (144, 88));
    // The proof covers every order, not only those that were tried.
    assert_eq!((best.proof, best.bound), (Proof::Optimal, 88));

    // What an allocator needs next: the half-open range of steps in which each buffer is in use.
    let lives = lifetimes(&buffers, &best.order);
    for (step, op) in best.order.iter().enumerate() {
        let in_use = lives.iter().zip(&buffers).filter(|(life, _)| life.contains(&(step as i64)));
        let bytes: u64 = in_use.map(|(_, buffer)| buffer.bytes).sum();
        println!("step {step}: {:<10} {bytes:>3} bytes in use", NAMES[op.index()]);
        assert!(bytes <= best.peak);
    }
    Ok(())
}
