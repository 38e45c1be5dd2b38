//! What the targets begin with: built-in networks, small models of the collection if it is there, and whatever a fuzzer
//! has found once.

use serenity::ir::json;
use serenity::zoo::Precision;
use serenity::{Format, Options, export, load, optimize};
use std::path::{Path, PathBuf};

/// Models that are larger are mutated by `fuzz/mutants`, as users would run them: a fuzzer that does one in a second
/// gets nowhere.
const LARGEST: u64 = 15_000;

/// Small, for the same reason.
const NETWORKS: [&str; 2] =
    ["branches?branches=3", "randwire-cifar10?nodes=5&k=2&channels=2&resolution=8&stage=1&ops=split"];

/// Beside these, where nothing is made of weights.
const GRAPHS: [&str; 2] = ["swiftnet-c", "densenet?growth=2&blocks=2&resolution=32"];

/// The seeds of a target, by its name; `project` is the folder that holds `fuzz`.
pub fn seeds(project: &Path, target: &str) -> Vec<Vec<u8>> {
    let exported = |format: Format, precision: Precision| {
        NETWORKS.iter().filter_map(move |name| Some(export(name, format, precision).ok()?.bytes))
    };
    let made: Vec<Vec<u8>> = match target {
        "tflite" | "loops" => {
            let int8 = exported(Format::TfLite, Precision::Int8);
            int8.chain(exported(Format::TfLite, Precision::Float32)).collect()
        }
        "onnx" => exported(Format::Onnx, Precision::Float32).collect(),
        "json" => {
            let network = |name: &&str| load(&format!("zoo:{name}")).ok();
            let graphs = NETWORKS.iter().chain(&GRAPHS).filter_map(network);
            graphs.map(|input| json::write(input.graph()).into_bytes()).collect()
        }
        "csv_table" => {
            vec![b"id,lower,upper,size,offset\nb0,0,3,4,\nb1,3,9,4,0\nb2,0,9,2,8\nb3,9,21,64,\n".to_vec()]
        }
        "plan" => {
            let plan = |input| optimize(&input, &Options::for_input(&input)).ok();
            let found = load("zoo:swiftnet-c").ok().and_then(plan);
            found.map(|found| found.plan.to_json().to_string().into_bytes()).into_iter().collect()
        }
        // Whatever the bytes, they are a problem.
        _ => (1..60_u32).map(|length| (0..length).map(|i| (i * 37 % 251) as u8).collect()).collect(),
    };
    let extension = match target {
        "tflite" | "loops" => "tflite",
        other => other,
    };
    let found = files(&project.join("fuzz/found").join(target));
    let collection = std::env::var_os("SERENITY_SHARED").map_or(project.join("../shared"), PathBuf::from);
    let collected = ["models", "more-models"].into_iter().flat_map(|folder| files(&collection.join(folder)));
    let real = collected.filter(|path| {
        path.extension().is_some_and(|end| end == extension)
            && path.metadata().is_ok_and(|file| file.len() <= LARGEST)
    });
    made.into_iter().chain(real.chain(found).filter_map(|path| std::fs::read(path).ok())).collect()
}

/// The files of a folder by name; none if it is not there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}
