//! The exact engine on problems drawn at random: as good as all orders tried one by one, and the same with what it remembers.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serenity_schedule::{Algorithm, Buffer, Memo, OpIndex, Options, Problem, Proof, schedule};
use serenity_search::Random;

/// Cells in a row, as networks have them: each op reads the last result and one of those before.
fn network(ops: u32, reach: u64, random: &mut Random) -> Problem {
    let mut readers: Vec<Vec<OpIndex>> = vec![Vec::new(); ops as usize];
    for op in 1..ops {
        let far = random.below(reach.min(u64::from(op))) as u32;
        for source in [op - 1 - far, op - 1 - random.below(u64::from(far) + 1) as u32] {
            readers[source as usize].push(OpIndex(op));
        }
    }
    let buffer = |(op, readers): (usize, Vec<OpIndex>)| {
        let buffer = Buffer::produced(1 + random.below(20), OpIndex(op as u32), readers);
        if op + 1 == ops as usize { buffer.kept() } else { buffer }
    };
    Problem::new(ops, readers.into_iter().enumerate().map(buffer).collect(), []).unwrap()
}

#[test]
fn as_good_as_all_orders() {
    let mut random = Random(1);
    for round in 0..2000 {
        let ops = 3 + random.below(6) as u32;
        let problem = network(ops, 1 + round % 5, &mut random);
        let all = schedule(&problem, &Options { algorithm: Algorithm::Exhaustive, ..Options::default() });
        let found = schedule(&problem, &Options::default());
        assert_eq!((found.peak, found.bound, found.proof), (all.peak, all.peak, Proof::Optimal), "{round}");
        assert_eq!(problem.peak(&found.order), found.peak, "{round}");
    }
}

#[test]
fn long_networks_fold_up_to_the_same_optimum() {
    let mut random = Random(2);
    for round in 0..30 {
        let problem = network(60, 4, &mut random);
        let exact = schedule(&problem, &Options::default());
        let dynamic = schedule(&problem, &Options { algorithm: Algorithm::Dp, ..Options::default() });
        assert_eq!((exact.peak, exact.proof), (dynamic.peak, Proof::Optimal), "{round}");
    }
}

/// With so little patience that precedence is looked for on small problems too.
#[test]
fn precedence_by_cuts_changes_no_optimum() {
    let mut random = Random(3);
    let mut differ = 0;
    for round in 0..300 {
        let problem = network(14 + random.below(10) as u32, 14, &mut random);
        let dynamic = schedule(&problem, &Options { algorithm: Algorithm::Dp, ..Options::default() });
        let states = [&["modules"][..], &["modules", "probing"], &["modules", "precedence"]].map(|off| {
            let mut options = Options::default();
            options.rules.patience = 1;
            for rule in off {
                assert!(options.rules.turn_off(rule));
            }
            let found = schedule(&problem, &options);
            assert_eq!((found.peak, found.proof), (dynamic.peak, Proof::Optimal), "{round} without {off:?}");
            assert_eq!(problem.peak(&found.order), found.peak, "{round} without {off:?}");
            found.stats.states
        });
        differ += usize::from(states[0] != states[2]);
    }
    assert!(differ > 20, "{differ}");
}

#[test]
fn what_is_remembered_changes_nothing() {
    let memo = Memo::default();
    for seed in 0..60 {
        // Every network twice, so that all of the second is known.
        let problem = network(40, 6, &mut Random(seed / 2));
        let fresh = schedule(&problem, &Options::default());
        let known = schedule(&problem, &Options { memo: memo.clone(), ..Options::default() });
        assert_eq!(
            (&fresh.order, fresh.peak, fresh.bound),
            (&known.order, known.peak, known.bound),
            "{seed}"
        );
        assert_eq!(fresh.stats.states, known.stats.states, "{seed}");
    }
}
