//! The interpreter against the real runtime: LiteRT with its reference kernels.

use crate::identities::interpreter::{Data, run};
use crate::identities::random_models::{Recipe, random_inputs, random_model};
use serenity_ir::Model;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What LiteRT makes of the models; `None` where the runtimes are not set up.
fn judged(models: &[(Model, Vec<Data>)]) -> Option<Vec<Vec<u8>>> {
    let python = serenity_judges::python()?;
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        (0..models.len()).map(|number| folder.path().join(format!("{number}.tflite"))).collect();
    for ((model, inputs), path) in models.iter().zip(&paths) {
        std::fs::write(path, serenity_tflite::create(model).unwrap()).unwrap();
        let bytes: Vec<u8> = inputs.iter().flat_map(Data::to_bytes).collect();
        std::fs::write(path.with_extension("tflite.in"), bytes).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/identities/runtime.py");
    let output = Command::new(python).arg(script).args(&paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = |path: &PathBuf| {
        if let Ok(reason) = std::fs::read_to_string(path.with_extension("tflite.refused")) {
            panic!("{}: {reason}", path.display());
        }
        std::fs::read(path.with_extension("tflite.out")).unwrap()
    };
    Some(paths.iter().map(result).collect())
}

fn random(count: u64, is_int8: bool) -> Vec<(Model, Vec<Data>)> {
    let model = |seed| {
        let model = random_model(Recipe { seed, is_int8, for_litert: true });
        let inputs = random_inputs(&model, seed);
        (model, inputs)
    };
    (0..count).map(model).collect()
}

fn kinds(model: &Model) -> Vec<&str> {
    model.graph().ops().iter().map(|op| op.kind.as_str()).collect()
}

#[test]
fn integers_are_those_of_litert_bit_by_bit() {
    let models = random(300, true);
    let Some(results) = judged(&models) else { return };
    for (seed, ((model, inputs), wanted)) in models.iter().zip(results).enumerate() {
        let found: Vec<u8> = run(model, inputs).iter().flat_map(Data::to_bytes).collect();
        assert_eq!(found, wanted, "model {seed}: {:?}", kinds(model));
    }
}

#[test]
fn floats_are_close_to_those_of_litert() {
    let models = random(300, false);
    let Some(results) = judged(&models) else { return };
    for (seed, ((model, inputs), wanted)) in models.iter().zip(results).enumerate() {
        let found: Vec<f32> = run(model, inputs)
            .iter()
            .flat_map(|data| match data {
                Data::Float(grid) => grid.values.clone(),
                other => panic!("not floats: {other:?}"),
            })
            .collect();
        let wanted: Vec<f32> = wanted.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect();
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.into_iter().zip(wanted) {
            let tolerance = 1e-5 * wanted.abs().max(1.0);
            assert!((found - wanted).abs() <= tolerance, "model {seed}: {found} {wanted} {:?}", kinds(model));
        }
    }
}
