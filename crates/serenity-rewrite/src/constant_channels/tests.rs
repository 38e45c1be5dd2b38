//! Small networks for which it is plain which channels may go.

use super::{
    Apart, Channels, Clamp, Mix, Narrowing, Network, Numbers, Step, Sums, Tie, Transfer, Weights, narrow,
};

fn bytes(count: usize, zero_point: i64, is_fixed: bool) -> Channels {
    Channels { count, is_fixed, numbers: Numbers::Whole { scale: 1.0, zero_point, least: -128, most: 127 } }
}

/// A convolution of one tap, results row by row.
fn mix(input: usize, output: usize, rows: &[&[i32]], bias: &[f64], sees_border: bool) -> Step {
    let mut weights = Weights::default();
    rows.concat().into_iter().for_each(|tap| weights.push([tap].into_iter()));
    let scales = Some(vec![1.0; bias.len()]);
    let clamp = Clamp { low: (-100.0, -100.0), high: (100.0, 100.0) };
    let sums = Sums { bias: bias.to_vec(), sees_border, scales, clamp };
    Step::Mix(Mix { input, output, weights, sums, takes_bias: true })
}

fn apart(inputs: &[usize], output: usize, transfer: Transfer) -> Step {
    Step::Apart(Apart { inputs: inputs.iter().map(|&input| Tie::same(input)).collect(), output, transfer })
}

fn sum() -> Transfer {
    Transfer::Sum { signs: vec![1.0, 1.0], slack: 0.01, clamp: Clamp::NONE }
}

/// Tensors with so many channels each, all zero at this number; the first and the last keep theirs.
fn network(counts: &[usize], zero_point: i64, steps: Vec<Step>) -> Network {
    let last = counts.len() - 1;
    let tensor = |(at, &count)| bytes(count, zero_point * i64::from(at % last != 0), at % last == 0);
    Network { tensors: counts.iter().enumerate().map(tensor).collect(), steps }
}

fn narrowed(counts: &[usize], steps: Vec<Step>) -> Narrowing {
    narrow(&network(counts, 0, steps), &|| false)
}

/// One channel becomes two by these weights and biases, and these one.
fn between(first: &[&[i32]], first_bias: &[f64], second: &[i32], sees_border: bool) -> Vec<Step> {
    vec![mix(0, 1, first, first_bias, false), mix(1, 2, &[second], &[0.0], sees_border)]
}

/// Asked at every step, whoever says stop gets the network as it is.
#[test]
fn whoever_says_stop_leaves_everything_in_place() {
    let network = network(&[1, 2, 1], 0, between(&[&[1], &[1]], &[-500.0, -150.0], &[1, 1], false));
    let asked = std::cell::Cell::new(0_u32);
    let count = || {
        asked.set(asked.get() + 1);
        false
    };
    assert!(!narrow(&network, &count).is_empty());
    let most = asked.get();
    assert!(most >= 4, "{most}");
    for last in 0..most {
        asked.set(0);
        let stop = || {
            count();
            asked.get() > last
        };
        assert!(narrow(&network, &stop).is_empty(), "{last}");
    }
}

#[test]
fn a_clamped_sum_is_constant_whatever_comes_in() {
    // One channel in, at most 127: 127 - 500 and -128 - 500 are both below -100.
    let found = narrowed(&[1, 2, 1], between(&[&[1], &[1]], &[-500.0, -150.0], &[1, 1], false));
    assert_eq!(found.kept[1], Some(vec![1]));
    assert_eq!(found.folded[&1], [-100]);
}

#[test]
fn a_constant_that_is_not_zero_stays_where_a_border_is_seen() {
    for (zero_point, sees_border, goes) in
        [(0, true, false), (0, false, true), (7, true, true), (7, false, true)]
    {
        // A sum of 7 above a zero point of 0, of 0 above one of 7: 7 is stored.
        let bias = if zero_point == 0 { 7.0 } else { 0.0 };
        let steps = between(&[&[3], &[0]], &[0.0, bias], &[1, 2], sees_border);
        let found = narrow(&network(&[1, 2, 1], zero_point, steps), &|| false);
        assert_eq!(found.kept[1].is_some(), goes, "{zero_point} {sees_border}");
        assert_eq!(found.folded.contains_key(&1), goes && zero_point == 0);
    }
}

#[test]
fn what_would_overflow_is_not_folded() {
    let huge = f64::from(i32::MAX - 3);
    for (bias, goes) in [(0.0, true), (huge, false)] {
        let steps = vec![mix(0, 1, &[&[3], &[0]], &[0.0, 7.0], false), mix(1, 2, &[&[1, 2]], &[bias], false)];
        assert_eq!(narrowed(&[1, 2, 1], steps).kept[1].is_some(), goes);
    }
}

#[test]
fn terms_of_a_sum_go_together_or_not_at_all() {
    for (second, goes) in [([[1], [0]], true), ([[1], [1]], false)] {
        let second: Vec<&[i32]> = second.iter().map(<[i32; 1]>::as_slice).collect();
        let steps = vec![
            mix(0, 1, &[&[1], &[0]], &[0.0, 3.0], false),
            mix(0, 2, &second, &[0.0, 4.0], false),
            apart(&[1, 2], 3, sum()),
            mix(3, 4, &[&[1, 5]], &[0.0], false),
        ];
        let found = narrowed(&[1, 2, 2, 2, 1], steps);
        for tensor in 1..4 {
            assert_eq!(found.kept[tensor], goes.then(|| vec![0]));
        }
        assert_eq!(found.folded.get(&3), goes.then(|| vec![35]).as_ref());
    }
}

#[test]
fn what_nobody_reads_goes_and_takes_along_what_only_it_read() {
    // Backwards: the last reader ignores channel 1 of tensor 2, which alone reads channel 1 of tensor 1.
    let steps = vec![
        mix(0, 1, &[&[1, 2], &[3, 4]], &[0.0, 0.0], true),
        mix(1, 2, &[&[1, 0], &[5, 6]], &[0.0, 0.0], true),
        mix(2, 3, &[&[1, 0]], &[0.0], true),
    ];
    let found = narrowed(&[2, 2, 2, 1], steps);
    assert_eq!(found.kept, [None, Some(vec![0]), Some(vec![0]), None]);
    assert!(found.folded.is_empty());
}

#[test]
fn one_channel_stays() {
    let steps = between(&[&[0], &[0]], &[0.0, 0.0], &[1, 1], false);
    assert_eq!(narrowed(&[1, 2, 1], steps).kept[1], Some(vec![0]));
}

#[test]
fn what_is_touched_by_the_unknown_stays() {
    let mut steps = between(&[&[1], &[0]], &[0.0, 0.0], &[1, 1], false);
    steps.push(Step::Opaque(vec![1]));
    assert!(narrowed(&[1, 2, 1], steps).is_empty());
}

#[test]
fn networks_that_contradict_themselves_stay() {
    let wrong: [Step; 5] = [
        mix(0, 9, &[&[1], &[0]], &[0.0, 0.0], false),
        mix(0, 1, &[&[1]], &[0.0, 0.0], false),
        mix(0, 1, &[&[1], &[0]], &[0.0], false),
        apart(&[0], 1, Transfer::Anything),
        Step::Apart(Apart {
            inputs: vec![Tie { input: 0, offset: usize::MAX, step: 1, stride: usize::MAX, repeats: 2 }],
            output: 1,
            transfer: Transfer::Anything,
        }),
    ];
    for step in wrong {
        assert!(narrowed(&[1, 2, 1], vec![step]).is_empty());
    }
}
