//! Windows that slide over time, judged by TFLM on each whole window; and their rings, tampered with, judged by numbers.

use crate::emitted_c::has;
use crate::emitted_streams::{assert_same, options};
use crate::random_networks::{EQUAL, Random, network_over_time, reason, tally};
use serenity::check::{SlideAct, SlideClaim, check_slide};
use serenity::ir::{ElementType, Graph};
use serenity::loops::streams::slide::{Above, Slide};
use serenity::loops::streams::{Form, Prefix, Rule};
use serenity::search::mix;
use serenity::slide::{claim, slide};
use serenity::{Error, Format, ReadOptions, load, load_bytes};
use serenity_judges::{draws, is_slow, on_all_cores, python, shared};
use std::path::PathBuf;

/// Models with a hop, and the most multiplications per window and bytes that they may take.
const MODELS: &[(&str, u64, u64, u64)] = &[
    ("more-models/str_ww_ref_model", 1, 46_040, 3_800),
    ("more-models/str_ww_ref_model", 3, 130_000, 4_100),
    ("models/mlperf_tiny_kws_int8", 1, 1_500_000, 17_000),
    ("models/mlperf_tiny_kws_int8", 2, 1_500_000, 10_500),
    ("models/mlperf_tiny_kws_int8", 4, 1_600_000, 10_500),
    ("models/mlperf_tiny_kws_int8", 10, 1_950_000, 10_500),
];

#[test]
fn models_compute_the_same_on_windows_that_slide() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    on_all_cores(MODELS, |(name, hop, macs, bytes)| {
        let Some((collection, file)) = name.split_once('/') else { return };
        let Some(path) = shared(collection).map(|path| path.join(file).with_extension("tflite")) else {
            return;
        };
        let input = load(path.to_str().unwrap()).unwrap();
        let made = slide(&input, &options(&input, false), *hop, None, "net").unwrap();
        assert!(made.macs <= *macs, "{name}, hop {hop}: {} MACs", made.macs);
        assert!(made.code.ram() <= *bytes, "{name}, hop {hop}: {} bytes", made.code.ram());
        // Two windows per run.
        let runs = if is_slow() { 5_000 } else { 100 };
        assert_same(&path, &made.code, &folder.path().join(format!("{file}-{hop}")), runs);
    });
}

/// With a budget, fewer multiplications are taken where they fit.
#[test]
fn a_larger_budget_saves_more() {
    let Some(path) = shared("models").map(|path| path.join("mlperf_tiny_kws_int8.tflite")) else { return };
    let input = load(path.to_str().unwrap()).unwrap();
    let made = |budget| slide(&input, &options(&input, false), 2, Some(budget), "net").unwrap();
    let (small, large) = (made(11_000), made(40_000));
    assert!(small.code.ram() <= 11_000 && large.code.ram() <= 40_000);
    assert!(large.macs < small.macs, "{} {}", large.macs, small.macs);
}

#[test]
fn hops_that_save_nothing_are_refused_by_name() {
    let bytes = network_over_time(&mut Random(3), ElementType::Int8);
    let input = load_bytes("net.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
    let rows = input.graph().tensor(input.graph().inputs()[0]).shape.as_ref().unwrap()[1];
    for (hop, why) in [(0, "do not move"), (rows, "nothing in common"), (rows + 1, "never be seen")] {
        let error = slide(&input, &options(&input, false), hop, None, "net").unwrap_err();
        assert!(error.to_string().contains("net.tflite") && error.to_string().contains(why), "{error}");
    }
}

/// Random networks: each window equal to TFLM, or refused by name.
#[test]
fn random_networks_compute_the_same_on_windows_that_slide() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made: Vec<(u64, PathBuf)> = (0..draws(if is_slow() { 1_000 } else { 400 }))
        .map(|seed| {
            let dtype = if seed % 4 == 3 { ElementType::Float32 } else { ElementType::Int8 };
            let path = folder.path().join(format!("{seed}.tflite"));
            std::fs::write(&path, network_over_time(&mut Random(seed), dtype)).unwrap();
            (seed, path)
        })
        .collect();
    let slid = on_all_cores(&made, |(seed, path)| {
        let input = load(path.to_str().unwrap()).unwrap();
        let hop = 1 + seed % 5;
        // Without a limit the fewest multiplications, with one that nothing fits a small product with bytes.
        let budget = [None, Some(1), Some(u64::MAX)][(seed % 3) as usize];
        match slide(&input, &options(&input, seed % 2 == 0), hop, budget, "net") {
            Ok(made) => {
                assert!(made.macs < made.window_macs, "seed {seed}");
                assert_same(path, &made.code, &path.with_extension("code"), 12);
                EQUAL.to_owned()
            }
            Err(error @ (Error::Emit { .. } | Error::Pipeline(_))) => reason(&error),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    });
    println!("windows slid:\n{}", tally(&slid));
    let slid = slid.iter().filter(|outcome| *outcome == EQUAL).count();
    assert!(slid * 4 > made.len(), "{slid} of {}", made.len());
}

/// All ways to slide over all prefixes of a graph.
fn slides(graph: &Graph, hop: u64) -> Vec<Slide> {
    let ways = [Above::Kept, Above::Anew].into_iter();
    let ways: Vec<_> = ways.flat_map(|above| [Form::Ring, Form::Tight].map(|form| (above, form))).collect();
    let prefixes = Prefix::all(graph, &graph.file_order());
    let made = prefixes.iter().flat_map(|prefix| {
        // One behind the other, as if the rest did nothing but read.
        let mut end = 0;
        let mut leaves = Vec::new();
        for tensor in prefix.leaves() {
            leaves.push(end);
            end += graph.tensor(tensor).bytes.next_multiple_of(16);
        }
        ways.iter()
            .map(move |&(above, form)| prefix.slide(hop, above, form, &leaves, end))
            .collect::<Vec<_>>()
    });
    made.flatten().collect()
}

/// A number for each byte of a row, made of where it comes from.
fn row_of(maker: u64, made_of: u64, bytes: u64) -> Vec<u64> {
    (0..bytes).map(|byte| mix(mix(made_of) ^ maker << 40 ^ byte)).collect()
}

fn sum_of(bytes: &[u64]) -> u64 {
    bytes.iter().fold(1, |sum, byte| mix(sum ^ byte))
}

/// The rows that a row of an operator reads of a line, those outside as none.
fn read_rows(graph: &Graph, slide: &Slide, op: usize, row: i64) -> Vec<Option<i64>> {
    let one = &slide.ops[op];
    let rows = slide.lines[one.reads[0]].rows;
    let (first, end) = match one.rule {
        Rule::Rows(rule) => rule.needed((row, row + 1)),
        Rule::Sum => (row, row + 1),
    };
    let dilation = graph.op(one.op).pair("dilation").map_or(1, |dilation| dilation[0] as usize);
    (first..end).step_by(dilation).map(|row| Some(row).filter(|row| (0..rows).contains(row))).collect()
}

fn input_row(frame: u64, bytes: u64) -> Vec<u64> {
    row_of(99, frame, bytes)
}

/// What leaves, in numbers, if the operators run on whole windows.
fn on_whole_windows(graph: &Graph, slide: &Slide, windows: u64) -> Vec<Vec<u64>> {
    let of_window = |window: u64| {
        let frames = (0..slide.lines[0].rows as u64).map(|row| window * slide.hop as u64 + row);
        let mut lines =
            vec![frames.map(|frame| input_row(frame, slide.lines[0].row_bytes)).collect::<Vec<_>>()];
        for (op, one) in slide.ops.iter().enumerate() {
            let mut made: Vec<Vec<u64>> = Vec::new();
            for row in 0..slide.lines[op + 1].rows {
                let mut sum = 0;
                for &line in &one.reads {
                    for read in read_rows(graph, slide, op, row) {
                        sum = mix(sum ^ read.map_or(7, |read| sum_of(&lines[line][read as usize])));
                    }
                }
                if let (Rule::Sum, Some(before)) = (one.rule, made.last()) {
                    sum = mix(sum ^ sum_of(before));
                }
                made.push(row_of(op as u64, sum, slide.lines[op + 1].row_bytes));
            }
            lines.push(made);
        }
        let leaving = |&(line, _): &(usize, u64)| {
            let is_sum = line > 0 && slide.ops[line - 1].rule == Rule::Sum;
            if is_sum {
                lines[line].last().map_or(0, |sums| sum_of(sums))
            } else {
                sum_of(&lines[line].concat())
            }
        };
        slide.leaves.iter().map(leaving).collect()
    };
    (0..windows).map(of_window).collect()
}

/// What the steps of a claim leave for each window, in numbers that depend on all that was read; `None` if code could not
/// take them.
fn computed(graph: &Graph, slide: &Slide, claim: &SlideClaim, windows: u64) -> Option<Vec<Vec<u64>>> {
    let mut arena = vec![0_u64; claim.arena as usize];
    let (mut at, mut round, mut early, mut pushed) = (claim.start, 0_u64, claim.early, 0_u64);
    let mut found = Vec::new();
    for _ in 0..200_000 {
        let step = claim.steps.get(at)?;
        let bytes = |line: usize| slide.lines[line].row_bytes;
        let ring = |line: usize, row: i64| -> u64 {
            let one = &claim.lines[line];
            if row > one.last || row < if step.is_top { one.again } else { one.first } {
                return one.border.place + row as u64 % one.border.held.max(1) * bytes(line);
            }
            let held = one.kept.held.max(1);
            let moved = round * one.shift * (claim.phases / one.phases);
            let place = (row as u64 + step.window / one.phases * one.shift + moved) % held;
            one.kept.place + (step.window % one.phases * held + place) * bytes(line)
        };
        let next = |line: usize| claim.lines[line].newest.unwrap_or_else(|| ring(line, step.row as i64));
        let range = |place: u64, bytes: u64| place as usize..(place + bytes) as usize;
        let row = step.row as i64;
        match step.act {
            SlideAct::Push => {
                let new = input_row(pushed, bytes(0));
                arena.get_mut(range(next(0), bytes(0)))?.copy_from_slice(&new);
                pushed += 1;
            }
            SlideAct::Keep(line) => {
                let new = arena.get(range(claim.lines[line].newest?, bytes(line)))?.to_vec();
                arena.get_mut(range(ring(line, row), bytes(line)))?.copy_from_slice(&new);
            }
            SlideAct::Gather(line) => {
                let from =
                    if step.fresh.contains(&line) { claim.lines[line].newest? } else { ring(line, row) };
                let new = arena.get(range(from, bytes(line)))?.to_vec();
                let to = claim.leaves.iter().find(|leaves| leaves.0 == line)?.1 + step.row * bytes(line);
                arena.get_mut(range(to, bytes(line)))?.copy_from_slice(&new);
            }
            SlideAct::Run(op) => {
                let is_sum = slide.ops[op].rule == Rule::Sum;
                let to = if is_sum { claim.lines[op + 1].border.place } else { next(op + 1) };
                let written = range(to, bytes(op + 1));
                let mut sum = 0;
                for &line in &slide.ops[op].reads {
                    let rows = read_rows(graph, slide, op, row);
                    let last = rows.iter().rposition(Option::is_some);
                    for (tap, read) in rows.iter().enumerate() {
                        let Some(read) = read else {
                            sum = mix(sum ^ 7);
                            continue;
                        };
                        let is_fresh = Some(tap) == last && step.fresh.contains(&line);
                        let from = if is_fresh { claim.lines[line].newest? } else { ring(line, *read) };
                        let read = range(from, bytes(line));
                        // Kernels read while they write.
                        let is_over = read.start < written.end && written.start < read.end;
                        sum = mix(sum ^ sum_of(arena.get(read)?) ^ u64::from(is_over));
                    }
                }
                if is_sum && row > 0 {
                    sum = mix(sum ^ sum_of(arena.get(written.clone())?));
                }
                let new = row_of(op as u64, sum, bytes(op + 1));
                arena.get_mut(written)?.copy_from_slice(&new);
            }
            SlideAct::Full if early > 0 => early -= 1,
            SlideAct::Full => {
                let leaving = |&(line, offset): &(usize, u64)| {
                    let is_sum = line > 0 && slide.ops[line - 1].rule == Rule::Sum;
                    let (place, rows) = if is_sum {
                        (claim.lines[line].border.place, 1)
                    } else {
                        (offset, slide.lines[line].rows as u64)
                    };
                    Some(sum_of(arena.get(range(place, rows * bytes(line)))?))
                };
                found.push(claim.leaves.iter().map(leaving).collect::<Option<Vec<u64>>>()?);
                arena.get_mut(..claim.rest as usize)?.fill(13);
                if found.len() as u64 == windows {
                    return Some(found);
                }
            }
        }
        at += 1;
        if at == claim.steps.len() {
            (at, round) = (0, (round + 1) % claim.rounds);
        }
    }
    None
}

/// Something about a claim changed; `None` if there is nothing of the kind.
fn tampered(claim: &SlideClaim, random: &mut Random) -> Option<SlideClaim> {
    let mut other = claim.clone();
    let (line, step) = (random.below(claim.lines.len()), random.below(claim.steps.len()));
    let by = random.of(&[1, 4, 8, 16, 64]);
    let up = random.one_in(2);
    let moved = |offset: u64| if up { Some(offset + by) } else { offset.checked_sub(by) };
    let (one, of_step) = (&mut other.lines[line], &mut other.steps[step]);
    match random.below(14) {
        0 => one.kept.place = moved(one.kept.place)?,
        1 => one.border.place = moved(one.border.place)?,
        2 => one.newest = Some(moved(one.newest?)?),
        3 => one.kept.held = one.kept.held.checked_sub(1)?,
        4 => one.border.held = one.border.held.checked_sub(1)?,
        // Rows of the border, used again.
        5 => one.last += 1,
        6 => one.first = one.first.checked_sub(1)?,
        7 => one.shift += 1,
        8 => {
            other.steps.remove(step);
        }
        9 => other.steps.swap(step, random.below(claim.steps.len())),
        10 => of_step.row = if up { of_step.row + 1 } else { of_step.row.checked_sub(1)? },
        11 => of_step.fresh = if of_step.fresh.is_empty() { vec![line] } else { Vec::new() },
        12 => other.early = if up { claim.early + 1 } else { claim.early.checked_sub(1)? },
        _ => other.start = random.below(claim.steps.len()),
    }
    let is_changed = other.lines != claim.lines || other.steps != claim.steps;
    (is_changed || (other.early, other.start) != (claim.early, claim.start)).then_some(other)
}

/// All slides pass the checker and compute what whole windows do; of those that were tampered with, none passes that
/// computes something else.
#[test]
fn tampered_slides_are_refused() {
    let networks: u64 = if is_slow() { 1_000 } else { 12 };
    let seeds: Vec<u64> = (0..networks).collect();
    let counts = on_all_cores(&seeds, |&seed| {
        let bytes = network_over_time(&mut Random(seed), ElementType::Int8);
        let input = load_bytes("random", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
        let graph = input.graph();
        let mut random = Random(seed ^ 0x5eed);
        let [mut tried, mut refused] = [0; 2];
        let hop = 1 + seed % 5;
        for slide in slides(graph, hop) {
            let rest =
                slide.leaves.iter().map(|&(line, at)| at + graph.tensor(slide.lines[line].tensor).bytes);
            let right = claim(&slide, rest.max().unwrap_or(0), slide.bytes);
            check_slide(graph, &right).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
            let windows = 3 + 2 * slide.phases as u64 + slide.lines[0].rows as u64 / hop;
            let wanted = Some(on_whole_windows(graph, &slide, windows));
            assert_eq!(computed(graph, &slide, &right, windows), wanted, "seed {seed}");
            for other in (0..12).filter_map(|_| tampered(&right, &mut random)) {
                tried += 1;
                if check_slide(graph, &other).is_err() {
                    refused += 1;
                } else {
                    let found = computed(graph, &slide, &other, windows);
                    assert_eq!(found, wanted, "seed {seed}: {other:?}");
                }
            }
        }
        [tried, refused]
    });
    let [tried, refused] = [0, 1].map(|of| counts.iter().map(|count: &[u64; 2]| count[of]).sum::<u64>());
    println!("{refused} of {tried} refused");
    assert!(tried >= 200 && refused * 2 > tried, "{refused} of {tried} refused");
}
