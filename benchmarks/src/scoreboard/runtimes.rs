//! Whole models: what the real runtimes need for them as they came, and as we write them.

use super::board::{Answer, Board, Column};
use super::inputs::File;
use super::orders::Vela;
use serenity::pipeline::Fast;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::search::Limits;
use serenity::{Loops, Options, Rewrites, load, optimize};
use serenity_judges::{Inputs, Tflm, Verdict};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TFLM: &str = "\
Head of TFLM's arena in bytes (activations and scratch) as its own recording allocator counts it, with its portable kernels: of the file as it came, where TFLM plans for itself, and of what \
`serenity optimize MODEL.tflite --kernels reference --rewrite exact -o OUT` writes, without and with `--loops`. Outputs are compared, and must be the same to the last bit. \
Vela is the other compiler that a user of an Ethos-U has: the SRAM that it reports (`python benchmarks/peers/vela.py MODEL.tflite`) is \
for that accelerator, which keeps channels in groups of 16, holds weights in the same memory while they are used, fuses activations and computes some layers a few rows at a time. So it stands beside our figure with loops, and is not quite alike.
";

const LITERT: &str = "\
Arena of LiteRT in bytes, reference kernels, no delegate, as it lies in the memory of the interpreter: of the file as it came, and of what `serenity optimize MODEL.tflite --runtime litert --kernels reference --rewrite exact -o OUT` writes.
";

const ORT: &str = "\
Bytes of activations that the first run of a session of ONNX Runtime asks for: a default session of the model as it came, and the session that `serenity optimize MODEL.onnx -o OUT` says to make for what it writes. Outputs are the same to the last bit. \
A default session is not the same in every process; this is one.
";

/// For one model: a safety net, searches end by counted work.
const TIME: Duration = Duration::from_mins(2);

/// What we make of a file, written to `folder`.
fn written(
    file: &File,
    folder: &Path,
    what: &str,
    set: impl Fn(Options) -> Options,
) -> Result<PathBuf, String> {
    eprintln!("{}: {what}", file.name);
    let extension = file.path.extension().unwrap_or_default();
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
    let path = folder.join(format!("{stem} {what}")).with_extension(extension);
    let write = || -> Result<(), Box<dyn Error>> {
        let input = load(&file.path.to_string_lossy())?;
        let rewrites = Rewrites::Exact;
        let options = Options { rewrites, limits: Limits::lasting(TIME), ..Options::for_input(&input) };
        Ok(std::fs::write(&path, optimize(&input, &set(options))?.to_bytes()?)?)
    };
    write().map(|()| path).map_err(|error| error.to_string())
}

/// Judges the files that could be written; the others keep their errors.
fn judged<T: Clone>(
    files: &[Result<PathBuf, String>],
    judge: impl Fn(&[&PathBuf]) -> Option<Vec<Verdict<T>>>,
) -> Vec<Result<T, String>> {
    let there: Vec<&PathBuf> = files.iter().filter_map(|file| file.as_ref().ok()).collect();
    let mut verdicts = judge(&there).map(Vec::into_iter);
    let mut next = || match verdicts.as_mut().map(Iterator::next) {
        Some(Some(Verdict::Accepted(report))) => Ok(report),
        Some(Some(Verdict::Refused(reason))) => {
            Err(reason.split(" | ").next().unwrap_or_default().to_owned())
        }
        Some(None) => Err("was not judged".to_owned()),
        None => Err("not installed".to_owned()),
    };
    files.iter().map(|file| file.as_ref().map_err(Clone::clone).and_then(|_| next())).collect()
}

fn as_they_came(files: &[File]) -> Vec<Result<PathBuf, String>> {
    files.iter().map(|file| Ok(file.path.clone())).collect()
}

/// The figure of a report, unless it computes something else than the file as it came.
fn same<T, O: PartialEq>(
    report: &Result<T, String>,
    before: &Result<T, String>,
    bytes: impl Fn(&T) -> u64,
    outputs: impl Fn(&T) -> &O,
) -> Answer {
    let compared = report.as_ref().map_err(Clone::clone).and_then(|after| match before {
        Ok(before) if outputs(before) != outputs(after) => Err("the outputs differ".to_owned()),
        _ => Ok(bytes(after)),
    });
    compared.into()
}

/// `.tflite` on microcontrollers.
pub(super) fn tflm(files: &[File], vela: &Vela, folder: &Path) -> Board {
    let judge = |files: &[Result<PathBuf, String>]| {
        judged(files, |files| serenity_judges::tflm(files, &Inputs::default()))
    };
    let ours = |loops: Option<Loops>, what: &str| {
        let write = |file: &File| {
            let model = MemoryModel::Tflm(Kernels::Reference);
            written(file, folder, what, |options| Options { model, loops, ..options })
        };
        files.iter().map(write).collect::<Vec<_>>()
    };
    let before = judge(&as_they_came(files));
    let planned = judge(&ours(None, "planned for TFLM"));
    let looped = judge(&ours(Some(Loops::default()), "with loops for TFLM"));
    let rows = files.iter().enumerate().map(|(index, file)| {
        let answer = |reports: &[Result<Tflm, String>]| {
            same(&reports[index], &before[index], |report| report.head, |report| &report.outputs)
        };
        let sram = vela[index]
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|said| said["sram"].as_u64().ok_or_else(|| "no figure in the answer".to_owned()));
        let answers = vec![answer(&before), sram.into(), answer(&planned), answer(&looped)];
        (file.name.clone(), answers)
    });
    let rows = rows.collect();
    let columns = vec![
        Column::peer("TFLM", 2),
        Column::peer("Vela, Ethos-U55", 3),
        Column::ours("Serenity"),
        Column::ours("with loops"),
    ];
    Board { title: "TFLM", text: TFLM, columns, rows }
}

/// `.tflite` on phones.
pub(super) fn litert(files: &[File], folder: &Path) -> Board {
    let judge = |files: &[Result<PathBuf, String>]| {
        judged(files, |files| serenity_judges::litert(files, &Inputs::default()))
    };
    let write = |file: &File| {
        written(file, folder, "planned for LiteRT", |options| Options {
            model: MemoryModel::Litert,
            ..options
        })
    };
    let (before, after) = (judge(&as_they_came(files)), judge(&files.iter().map(write).collect::<Vec<_>>()));
    let rows = files.iter().zip(before.iter().zip(&after)).map(|(file, (before, after))| {
        let answers = [before, after]
            .map(|report| same(report, before, |report| report.main.arena, |report| &report.outputs));
        (file.name.clone(), answers.into())
    });
    let rows = rows.collect();
    let columns = vec![Column::peer("LiteRT", 1), Column::ours("Serenity")];
    Board { title: "LiteRT", text: LITERT, columns, rows }
}

/// `.onnx`.
pub(super) fn ort(files: &[File], folder: &Path) -> Board {
    let columns = vec![Column::peer("ONNX Runtime, default", 1), Column::ours("Serenity")];
    let mut rows = Vec::new();
    for file in files {
        let found = ort_pair(file, folder);
        let answers = [0, 1].map(|which| found.as_ref().map(|pair| pair[which]).map_err(Clone::clone).into());
        rows.push((file.name.clone(), answers.into()));
    }
    Board { title: "ONNX Runtime", text: ORT, columns, rows }
}

/// A default session, and ours.
fn ort_pair(file: &File, folder: &Path) -> Result<[u64; 2], String> {
    let python = serenity_judges::python().ok_or("not installed")?;
    let fast = Some(Fast { python: Some(python), is_required: true, rewrites: Rewrites::None });
    let path = written(file, folder, "planned for ONNX Runtime", |options| Options {
        fast: fast.clone(),
        ..options
    })?;
    let judge = |_: &[&PathBuf]| {
        serenity_judges::sessions(&[&file.path], &[&path], &[String::new()], 0.0, &Inputs::default())
    };
    let seen = judged(&[Ok(path.clone())], judge).pop().ok_or("was not judged")??;
    if seen.equal { Ok([seen.default, seen.fast]) } else { Err("the outputs differ".to_owned()) }
}
