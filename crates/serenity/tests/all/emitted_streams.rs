//! Streams: the beginning of networks row by row, pushed or with the whole input in memory, judged by TFLM; and their
//! rings, tampered with, judged by numbers.

use crate::emitted_c::{has, with};
use crate::random_networks::{EQUAL, Random, network, reason, tally};
use serenity::check::{ClaimedStep, StreamClaim, check_stream};
use serenity::emit::Emitted;
use serenity::ir::{ElementType, Graph};
use serenity::loops::streams::{Form, Prefix, Rows, Rule, Stream};
use serenity::pipeline::macs_of;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::search::mix;
use serenity::stream::{best_code, claim, stream};
use serenity::{Error, Format, Input, Loops, Options, ReadOptions, load, load_bytes, optimize};
use serenity_judges::{draws, is_slow, on_all_cores, python, shared};
use serenity_verify::{VerifyOptions, verify_emitted};
use std::path::{Path, PathBuf};

const CAREFUL: &str = "-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all";

pub(crate) fn options(input: &Input, loops: bool) -> Options {
    let (model, loops) = (MemoryModel::Tflm(Kernels::Emitted), loops.then(Loops::default));
    Options { model, loops, ..Options::for_input(input) }
}

/// Runs emitted C and TFLM on the same inputs.
#[track_caller]
pub(crate) fn assert_same(model: &Path, code: &Emitted, folder: &Path, runs: u32) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in &code.files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let options = VerifyOptions { runs, python: python(), ..VerifyOptions::default() };
    let (model, folder) = (model.to_str().unwrap(), folder.to_str().unwrap());
    let found = verify_emitted(model, folder, &with("cc", CAREFUL), &options);
    let found = found.unwrap_or_else(|error| panic!("{model} in {folder}: {error}"));
    assert!(found.equal || found.is_within(1e-5), "{model}: {:?}", found.max_abs_difference);
}

/// Models with the most bytes that they may take, pushed and resident, and whether they take long.
const MODELS: &[(&str, u64, u64, bool)] = &[
    ("models/mlperf_tiny_kws_int8", 3_650, 4_050, false),
    ("models/mlperf_tiny_resnet8_int8", 11_300, 14_200, false),
    ("models/mlperf_tiny_vww_96_int8", 12_200, 27_760, true),
    ("models/mobilenet_v2_035_96_int8", 14_900, 31_796, true),
    ("more-models/person_detect", 11_800, 16_544, true),
    ("models/mlperf_tiny_resnet8_float", 60_300, 70_000, true),
];

#[test]
fn models_compute_the_same_row_by_row() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wanted: Vec<_> = MODELS.iter().filter(|model| is_slow() || !model.3).collect();
    on_all_cores(&wanted, |(name, pushed, resident, _)| {
        let Some((collection, file)) = name.split_once('/') else { return };
        let Some(path) = shared(collection).map(|path| path.join(file).with_extension("tflite")) else {
            return;
        };
        let input = load(path.to_str().unwrap()).unwrap();
        let (options, runs) = (options(&input, true), if is_slow() { 50 } else { 4 });
        let made = stream(&input, &options, Rows::Pushed, "net").unwrap();
        assert!(made.code.ram() <= *pushed, "{name}: {} bytes pushed", made.code.ram());
        assert_same(&path, &made.code, &folder.path().join(format!("{file}-pushed")), runs);
        let found = optimize(&input, &options).unwrap();
        let (code, macs, _) = best_code(&input, &found, &options, "net").unwrap();
        assert!(macs <= made.macs.max(macs_of(input.graph())) * 11 / 10, "{name}: {macs}");
        assert!(code.ram() <= *resident, "{name}: {} bytes resident", code.ram());
        assert_same(&path, &code, &folder.path().join(format!("{file}-resident")), runs);
    });
}

/// Random networks, pushed and resident: equal to TFLM, or refused by name.
#[test]
fn random_networks_compute_the_same_row_by_row() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made: Vec<(u64, PathBuf)> = (0..draws(if is_slow() { 1_000 } else { 120 }))
        .map(|seed| {
            let dtype = if seed % 4 == 3 { ElementType::Float32 } else { ElementType::Int8 };
            let path = folder.path().join(format!("{seed}.tflite"));
            std::fs::write(&path, network(&mut Random(seed), dtype)).unwrap();
            (seed, path)
        })
        .collect();
    let streamed = on_all_cores(&made, |(seed, path)| {
        let input = load(path.to_str().unwrap()).unwrap();
        let options = options(&input, seed % 2 == 0);
        [Rows::Pushed, Rows::Resident].map(|rows| {
            let outcome = match stream(&input, &options, rows, "net") {
                Ok(made) => {
                    assert_same(path, &made.code, &path.with_extension(format!("{rows:?}")), 2);
                    EQUAL.to_owned()
                }
                Err(error @ (Error::Emit { .. } | Error::Pipeline(_))) => reason(&error),
                Err(error) => panic!("seed {seed}: {error}"),
            };
            format!("{rows:?}: {outcome}")
        })
    });
    let streamed = streamed.concat();
    println!("row by row:\n{}", tally(&streamed));
    let streamed = streamed.iter().filter(|outcome| outcome.ends_with(EQUAL)).count();
    assert!(streamed * 4 > made.len(), "{streamed} of {}", 2 * made.len());
}

/// Streams of all prefixes of a graph.
fn streams(graph: &Graph) -> Vec<Stream> {
    let ways = [(Form::Ring, Rows::Pushed), (Form::Tight, Rows::Pushed), (Form::Tight, Rows::Resident)];
    let prefixes = Prefix::all(graph, &graph.file_order());
    prefixes
        .iter()
        .flat_map(|prefix| ways.map(|(form, rows)| prefix.stream(form, rows, None)))
        .flatten()
        .collect()
}

/// Each byte of a row, as a number made of where it comes from.
fn row_of(line: usize, row: u64, made_of: u64, bytes: u64) -> Vec<u64> {
    (0..bytes).map(|byte| mix(mix(made_of) ^ (line as u64) << 40 ^ row << 20 ^ byte)).collect()
}

fn sum_of(bytes: &[u64]) -> u64 {
    bytes.iter().fold(1, |sum, byte| mix(sum ^ byte))
}

/// What the steps of a stream leave behind, in numbers that depend on all that was read; `None` if code could not take them.
fn computed(graph: &Graph, stream: &Stream, claim: &StreamClaim) -> Option<u64> {
    let mut arena = vec![0_u64; claim.arena as usize];
    let (mut made, mut is_new) = (vec![0_u64; claim.lines.len()], vec![false; claim.lines.len()]);
    let bytes = |line: usize| stream.lines[line].row_bytes;
    let at = |made: &[u64], is_new: &[bool], line: usize, row: u64| {
        let claimed = &claim.lines[line];
        let newest = claimed.newest.filter(|_| is_new[line] && row + 1 == made[line]);
        newest.unwrap_or(claimed.place + row % claimed.held.max(1) * bytes(line)) as usize
    };
    let next = |made: &[u64], line: usize| {
        let claimed = &claim.lines[line];
        claimed.newest.unwrap_or(claimed.place + made[line] % claimed.held.max(1) * bytes(line)) as usize
    };
    if !claim.is_pushed {
        for row in 0..stream.lines[0].rows {
            let place = (claim.lines[0].place + row % claim.lines[0].held.max(1) * bytes(0)) as usize;
            arena.get_mut(place..place + bytes(0) as usize)?.copy_from_slice(&row_of(0, row, 0, bytes(0)));
        }
        made[0] = stream.lines[0].rows;
    }
    for step in &claim.steps {
        let line = match *step {
            ClaimedStep::Keep(line) => {
                let row = made.get(line)?.checked_sub(1)?;
                let from = claim.lines[line].newest? as usize;
                is_new[line] = false;
                let to = at(&made, &is_new, line, row);
                if from.max(to) + bytes(line) as usize > arena.len() {
                    return None;
                }
                arena.copy_within(from..from + bytes(line) as usize, to);
                continue;
            }
            ClaimedStep::Push => 0,
            ClaimedStep::Run(op) => op + 1,
        };
        let row = *made.get(line)?;
        if row == stream.lines[line].rows {
            return None;
        }
        let place = next(&made, line);
        let mut sum = 0;
        if let Some(op) = line.checked_sub(1).map(|op| &stream.ops[op]) {
            for &read in &op.reads {
                let rows = stream.lines[read].rows as i64;
                let (first, end) = match op.rule {
                    Rule::Rows(rule) => rule.needed((row as i64, row as i64 + 1)),
                    Rule::Sum => (row as i64, row as i64 + 1),
                };
                let dilation = graph.op(op.op).pair("dilation").map_or(1, |dilation| dilation[0] as usize);
                let needed = (first..end).step_by(dilation);
                for needed in needed.filter(|needed| (0..rows).contains(needed)) {
                    let from = at(&made, &is_new, read, needed as u64);
                    // Rows that are not there yet hold whatever lies there.
                    let found = arena.get(from..from + bytes(read) as usize)?;
                    sum = mix(sum ^ sum_of(found));
                    // Kernels read while they write.
                    let (end, written) = (from + bytes(read) as usize, place + bytes(line) as usize);
                    if from < written && place < end {
                        sum = mix(sum ^ 0xbad);
                    }
                }
            }
            if op.rule == Rule::Sum && row > 0 {
                sum = mix(sum ^ sum_of(arena.get(place..place + bytes(line) as usize)?));
            }
        }
        let new = row_of(line, row, sum, bytes(line));
        arena.get_mut(place..place + bytes(line) as usize)?.copy_from_slice(&new);
        made[line] += 1;
        is_new[line] = claim.lines[line].newest.is_some();
    }
    if made
        .iter()
        .zip(&stream.lines)
        .skip(1)
        .any(|(&made, line)| made < line.rows && line == &stream.lines[stream.ops.len()])
    {
        return None;
    }
    let mut sum = 0;
    for &(line, offset) in &claim.leaves {
        let is_sum = line == stream.ops.len() && stream.ops[line - 1].rule == Rule::Sum;
        let place = if is_sum { claim.lines[line].place } else { offset };
        let rows = if is_sum { 1 } else { stream.lines[line].rows };
        sum = mix(sum ^ sum_of(arena.get(place as usize..(place + bytes(line) * rows) as usize)?));
    }
    Some(sum)
}

/// Something about a claim changed; `None` if there is nothing of the kind.
fn tampered(claim: &StreamClaim, random: &mut Random) -> Option<StreamClaim> {
    let mut other = claim.clone();
    let line = random.below(claim.lines.len());
    let by = random.of(&[1, 4, 8, 16, 64, 256]);
    let moved = |offset: u64, random: &mut Random| {
        if random.one_in(2) { offset.checked_sub(by) } else { Some(offset + by) }
    };
    match random.below(7) {
        0 => other.lines[line].place = moved(claim.lines[line].place, random)?,
        1 => other.lines[line].newest = Some(moved(claim.lines[line].newest?, random)?),
        2 => other.lines[line].held = claim.lines[line].held.checked_sub(1)?,
        3 => other.lines[line].place = claim.lines[random.below(claim.lines.len())].place,
        4 => {
            other.steps.remove(random.below(claim.steps.len()));
        }
        5 => other.steps.swap(random.below(claim.steps.len()), random.below(claim.steps.len())),
        _ => {
            let number = random.below(claim.leaves.len());
            other.leaves[number].1 = moved(claim.leaves[number].1, random)?;
        }
    }
    (other.lines != claim.lines || other.steps != claim.steps || other.leaves != claim.leaves)
        .then_some(other)
}

/// All streams pass the checker; of those that were tampered with, none passes that computes something else.
#[test]
fn tampered_rings_are_refused() {
    let networks: u64 = if is_slow() { 2_000 } else { 60 };
    let seeds: Vec<u64> = (0..networks).collect();
    let counts = on_all_cores(&seeds, |&seed| {
        let bytes = network(&mut Random(seed), ElementType::Int8);
        let input = load_bytes("random", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
        let mut random = Random(seed ^ 0x5eed);
        let [mut tried, mut refused] = [0; 2];
        for stream in streams(input.graph()) {
            let right = claim(&stream, stream.bytes);
            check_stream(input.graph(), &right).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
            let wanted = computed(input.graph(), &stream, &right);
            assert!(wanted.is_some(), "seed {seed}");
            for other in (0..20).filter_map(|_| tampered(&right, &mut random)) {
                tried += 1;
                match check_stream(input.graph(), &other) {
                    Err(_) => refused += 1,
                    Ok(()) => {
                        assert_eq!(
                            computed(input.graph(), &stream, &other),
                            wanted,
                            "seed {seed}: {other:?}"
                        );
                    }
                }
            }
        }
        [tried, refused]
    });
    let [tried, refused] = [0, 1].map(|of| counts.iter().map(|count: &[u64; 2]| count[of]).sum::<u64>());
    assert!(tried >= 2_000 && refused * 2 > tried, "{refused} of {tried} refused");
}
