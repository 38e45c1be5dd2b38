//! What all are measured on: built-in networks as files, and the collection of models if it is there.

use crate::networks;
use serenity::zoo::Precision;
use serenity::{Format, export};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Built-in networks that become files: small enough for seconds.
const EXPORTED: &[&str] = &[
    "swiftnet",
    "darts-cell",
    "darts-cifar?layers=4",
    "nasnet-cifar?cells=1",
    "amoebanet-cifar?cells=1",
    "pnasnet-cifar?cells=1",
    "randwire-cifar10?seed=1",
    "mobilenet",
    "densenet?blocks=2-3-2",
    "inception",
];

/// A file, and what the tables call it.
#[derive(Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl File {
    fn of(path: &Path) -> Self {
        Self { name: networks::short_name(&path.to_string_lossy()), path: path.to_owned() }
    }
}

/// All inputs, by what can be asked of them.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) tflite: Vec<File>,
    pub(super) onnx: Vec<File>,
    /// Graphs without a file that a runtime could run.
    pub(super) graphs: Vec<String>,
    /// Tables of buffers.
    pub(super) tables: Vec<File>,
}

impl Inputs {
    /// Those that were named, or all. Built-in networks are written into `folder`.
    pub(super) fn gather(sources: &[String], folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut inputs = Self::default();
        if sources.is_empty() {
            inputs.export(folder)?;
            inputs.graphs = networks::defaults();
            for (files, part, extension) in [
                (&mut inputs.tflite, "models", "tflite"),
                (&mut inputs.onnx, "models", "onnx"),
                (&mut inputs.tables, "arena", "csv"),
            ] {
                files
                    .extend(serenity_judges::shared_files(part, extension).iter().map(|path| File::of(path)));
            }
        }
        for source in sources {
            let path = Path::new(source);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("tflite") => inputs.tflite.push(File::of(path)),
                Some("onnx") => inputs.onnx.push(File::of(path)),
                Some("csv") => inputs.tables.push(File::of(path)),
                _ => inputs.graphs.push(source.clone()),
            }
        }
        Ok(inputs)
    }

    fn export(&mut self, folder: &Path) -> Result<(), Box<dyn Error>> {
        for (format, precision, files) in [
            (Format::TfLite, Precision::Int8, &mut self.tflite),
            (Format::Onnx, Precision::Float32, &mut self.onnx),
        ] {
            for &spec in EXPORTED {
                let stem = spec.replace(['?', '=', '&'], "_");
                let path = folder.join(format!("{stem}.{}", format.extensions()[0]));
                std::fs::write(&path, export(spec, format, precision)?.bytes)?;
                files.push(File { name: format!("zoo:{spec}"), path });
            }
        }
        Ok(())
    }
}
