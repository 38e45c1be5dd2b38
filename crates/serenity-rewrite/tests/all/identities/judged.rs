//! Models before and after, as files that LiteRT runs with its reference kernels: the judge of whether they compute the same.

use serenity_ir::Model;
use serenity_judges::{Across, Engine, Inputs, Rewritten, Verdict, rewritten_tflite};
use std::path::PathBuf;

/// How far the outputs of each pair are apart, and whether all bits are the same; `None` where the runtimes are not set up.
pub(crate) fn compared(pairs: &[(Model, Model)]) -> Option<Vec<(Across, bool)>> {
    let folder = tempfile::tempdir().unwrap();
    let write = |which: &str, number: usize, model: &Model| {
        let path = folder.path().join(format!("{number} {which}.tflite"));
        std::fs::write(&path, serenity_tflite::create(model).unwrap()).unwrap();
        path
    };
    let paths = pairs
        .iter()
        .enumerate()
        .map(|(number, (before, after))| (write("before", number, before), write("after", number, after)));
    let (before, after): (Vec<PathBuf>, Vec<PathBuf>) = paths.unzip();
    let inputs = Inputs { runs: 1, seed: 1 };
    let verdicts = rewritten_tflite(Engine::LiteRtReference, &before, &after, &inputs)?;
    Some(verdicts.into_iter().enumerate().map(|(number, verdict)| compared_pair(number, verdict)).collect())
}

fn compared_pair(number: usize, verdict: Verdict<Rewritten>) -> (Across, bool) {
    match verdict {
        Verdict::Accepted(Rewritten::Compared { across, identical }) => (across, identical),
        refused => panic!("pair {number}: {refused:?}"),
    }
}
