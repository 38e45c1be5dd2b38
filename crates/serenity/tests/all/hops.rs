//! Models that take the new rows of a window, judged by an unmodified TFLM against the whole model on each window.

use crate::emitted_streams::options;
use crate::random_networks::{EQUAL, Random, network_over_time, reason, tally, unpadded_over_time};
use serenity::account::Account;
use serenity::check::{PlacementFault, placement_faults};
use serenity::hops::{Hopped, hops};
use serenity::ir::ElementType;
use serenity::runtimes::{Kernels, MemoryModel, Offsets};
use serenity::tflite::{CARRIED, Model};
use serenity::{Error, Format, Input, Options, ReadOptions, load, load_bytes, optimize};
use serenity_judges::{Inputs, draws, is_slow, on_all_cores, python, shared, tflm};
use serenity_verify::{Engine, VerifyOptions, verify};
use std::path::{Path, PathBuf};

/// For TFLM with these kernels.
fn for_tflm(input: &Input, kernels: Kernels) -> Options {
    Options { model: MemoryModel::Tflm(kernels), ..options(input, false) }
}

/// Writes the model, and asks TFLM whether it computes the same as the other one on each of two windows per run.
fn assert_same(model: &Path, made: &Hopped, to: &Path, engine: Engine, runs: u32) {
    std::fs::write(to, made.found.to_bytes().unwrap()).unwrap();
    let options = VerifyOptions { runs, engine: Some(engine), python: python(), ..VerifyOptions::default() };
    let found = verify(model.to_str().unwrap(), to.to_str().unwrap(), &options);
    let found = found.unwrap_or_else(|error| panic!("{}: {error}", model.display()));
    assert!(found.equal || found.is_within(1e-5), "{}: {:?}", model.display(), found.comparisons);
}

#[test]
fn a_wake_word_takes_one_frame_per_run() {
    let Some(folder) = shared("more-models").filter(|_| python().is_some()) else { return };
    let path = folder.join("str_ww_ref_model.tflite");
    let input = load(path.to_str().unwrap()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let made: [(PathBuf, Hopped); 2] = [Kernels::Reference, Kernels::Any].map(|kernels| {
        let made = hops(&input, &for_tflm(&input, kernels), 1, None).unwrap();
        assert_eq!((made.hop.macs, made.hop.window_macs, made.hop.first), (46_040, 826_368, 30), "{kernels}");
        let file = out.path().join(format!("{kernels}.tflite"));
        assert_same(&path, &made, &file, Engine::Tflm, if is_slow() { 5_000 } else { 100 });
        assert_same(&path, &made, &file, Engine::LiteRt, 20);
        (file, made)
    });
    let files: Vec<&PathBuf> = made.iter().map(|(file, _)| file).collect();
    let Some(judged) = tflm(&files, &Inputs { runs: 1, seed: 1 }) else { return };
    // What is stated for x86-64 is what TFLM takes there, so what is stated for 32-bit devices can be trusted.
    for (verdict, (_, made)) in judged.iter().zip(&made) {
        let tail = made.found.model.tail(made.found.plan.model).unwrap();
        let stated = tail.needed(made.found.plan.after.needs()).x86_64;
        assert_eq!(verdict.accepted().total, stated);
    }
    let found = &made[0].1.found;
    let bytes = Account::new(&input, &found.model, &found.plan).need().bytes;
    assert!(bytes <= 14_100, "{bytes} bytes on a 32-bit device");
    // Both ends of what is carried lie in the same bytes, which count once.
    let most = Account::new(&input, &found.model, &found.plan).profile_after().peak();
    let after = found.plan.after;
    assert!(most == after.peak && most <= after.needs(), "{most} bytes of {after:?}");
}

/// A plan that does not carry is refused, and TFLM computes something else with it.
#[test]
fn what_is_not_carried_is_noticed() {
    let Some(folder) = shared("more-models") else { return };
    let path = folder.join("str_ww_ref_model.tflite");
    let input = load(path.to_str().unwrap()).unwrap();
    let made = hops(&input, &for_tflm(&input, Kernels::Reference), 2, None).unwrap();
    let (graph, plan) = (made.found.model.graph(), &made.found.plan);
    let (orders, places) = (plan.orders(), plan.offsets.as_ref().unwrap());
    let faults = |places: &Offsets| {
        placement_faults(&[graph], &orders, Kernels::Reference, places, plan.after.needs() + (1 << 20))
    };
    assert_eq!(faults(places), []);
    let carried = graph.carried();
    assert!(!carried.is_empty());
    let elsewhere = plan.after.needs().next_multiple_of(16);
    for (before, after) in carried {
        for moved in [before, after] {
            let mut places = places.clone();
            places[0][moved.index()] = Some(elsewhere);
            let found = faults(&places);
            let is_noticed = |fault: &PlacementFault| matches!(fault, PlacementFault::NotCarried { .. });
            assert!(found.iter().any(is_noticed), "{moved}: {found:?}");
        }
    }
    if python().is_none() {
        return;
    }
    let mut places = places.clone();
    let (_, lost) = graph.carried()[0];
    places[0][lost.index()] = Some(elsewhere);
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("lost.tflite");
    std::fs::write(&file, made.found.model.file.planned(&orders, Some(&places), None).unwrap()).unwrap();
    let options = VerifyOptions { engine: Some(Engine::Tflm), python: python(), ..VerifyOptions::default() };
    let found = verify(path.to_str().unwrap(), file.to_str().unwrap(), &options).unwrap();
    assert!(!found.equal);
}

#[test]
fn what_an_interpreter_cannot_keep_is_refused_by_name() {
    let Some(folder) = shared("models") else { return };
    let input = load(folder.join("mlperf_tiny_kws_int8.tflite").to_str().unwrap()).unwrap();
    let refused = |options: &Options, hop| hops(&input, options, hop, None).unwrap_err().to_string();
    let options = for_tflm(&input, Kernels::Any);
    for (hop, why) in [(0, "do not move"), (49, "none in common"), (2, "pads the window"), (1, "")] {
        let error = refused(&options, hop);
        assert!(error.contains("kws_int8") && error.contains(why), "{error}");
    }
    let unplanned = Options { plan_arena: false, ..options };
    assert!(refused(&unplanned, 2).contains("memory plan"), "{}", refused(&unplanned, 2));
}

/// A model that carries something is planned as any other, and goes on carrying it. What is said of it must make sense.
#[test]
fn what_is_carried_is_kept_in_another_plan() {
    let Some(folder) = shared("more-models").filter(|_| python().is_some()) else { return };
    let path = folder.join("str_ww_ref_model.tflite");
    let input = load(path.to_str().unwrap()).unwrap();
    let made = hops(&input, &for_tflm(&input, Kernels::Any), 3, None).unwrap();
    let bytes = made.found.to_bytes().unwrap();
    let model = Model::parse(bytes.clone()).unwrap();
    for nonsense in ["", "{}", "[[1]]", "[[99, 1]]", "[[1, 99]]", "[[0, 1]]", "[[1, 0]]"] {
        let mut edit = model.edit();
        edit.set_metadata(CARRIED, nonsense.as_bytes().to_vec());
        let error = edit.finish().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("serenity.carried"), "{nonsense}: {error}");
    }
    let again = load_bytes("again.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
    let options = Options { given_plan: None, ..for_tflm(&again, Kernels::Reference) };
    let found = optimize(&again, &options).unwrap();
    assert_eq!(found.model.graph().carried().len(), again.graph().carried().len());
    let out = tempfile::tempdir().unwrap();
    assert_same(&path, &Hopped { found, ..made }, &out.path().join("again.tflite"), Engine::Tflm, 8);
}

/// Random networks: each window equal to TFLM, or refused by name.
#[test]
fn random_networks_compute_the_same_from_new_rows() {
    if python().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let seeds: Vec<u64> = (0..draws(if is_slow() { 1_000 } else { 400 })).collect();
    let made = on_all_cores(&seeds, |&seed| {
        let dtype = if seed % 4 == 3 { ElementType::Float32 } else { ElementType::Int8 };
        let network = if seed % 5 == 0 { network_over_time } else { unpadded_over_time };
        let bytes = network(&mut Random(seed), dtype);
        let path = folder.path().join(format!("{seed}.tflite"));
        std::fs::write(&path, &bytes).unwrap();
        let input = load_bytes("net.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
        let kernels = if seed % 2 == 0 { Kernels::Reference } else { Kernels::Any };
        let budget = [None, Some(1), Some(u64::MAX)][(seed % 3) as usize];
        match hops(&input, &for_tflm(&input, kernels), 1 + seed / 4 % 4, budget) {
            Ok(made) => {
                assert!(made.hop.macs < made.hop.window_macs, "seed {seed}");
                assert_same(&path, &made, &path.with_extension("hop.tflite"), Engine::Tflm, 12);
                EQUAL.to_owned()
            }
            Err(error @ Error::Pipeline(_)) => reason(&error),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    });
    println!("new rows per run:\n{}", tally(&made));
    let slid = made.iter().filter(|outcome| *outcome == EQUAL).count();
    assert!(slid > 0, "none of {}", made.len());
}
