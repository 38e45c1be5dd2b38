//! Models without channels that are the same number everywhere, judged by the runtimes that run both.

mod network;
mod onnx;

use network::Net;
use serenity_formats::{Format, ModelFile, NarrowedChannels, ReadOptions};
use serenity_judges::{Engine, Inputs, Rewritten, Verdict, shared};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn read(path: &Path) -> Arc<dyn ModelFile> {
    let name = path.to_string_lossy();
    Format::of_path(&name).unwrap().read(std::fs::read(path).unwrap(), &ReadOptions::default()).unwrap()
}

/// Pairs of files, before and after.
#[derive(Default)]
struct Pairs(Vec<(PathBuf, PathBuf)>);

impl Pairs {
    /// What became of a file, if anything did.
    fn add(&mut self, file: &dyn ModelFile, folder: &Path) -> Option<NarrowedChannels> {
        let (new, channels) = file.without_constant_channels(&|| false).unwrap()?;
        let (again, rest) = new
            .without_constant_channels(&|| false)
            .unwrap()
            .unwrap_or((new.clone(), NarrowedChannels::default()));
        assert!(rest.removed == 0 || again.bytes().len() <= new.bytes().len());
        let name = |which: &str| folder.join(format!("{which} {}.tflite", self.0.len()));
        let (before, after) = (name("before"), name("after"));
        std::fs::write(&before, file.bytes()).unwrap();
        std::fs::write(&after, new.bytes()).unwrap();
        self.0.push((before, after));
        Some(channels)
    }

    /// Every bit must be the same.
    fn judge(&self, engine: Engine) {
        let before: Vec<&PathBuf> = self.0.iter().map(|(before, _)| before).collect();
        let after: Vec<&PathBuf> = self.0.iter().map(|(_, after)| after).collect();
        let inputs = Inputs { runs: 2, seed: 3 };
        let Some(verdicts) = serenity_judges::rewritten_tflite(engine, &before, &after, &inputs) else {
            return;
        };
        for ((before, _), verdict) in self.0.iter().zip(verdicts) {
            match verdict {
                Verdict::Accepted(Rewritten::Compared { identical, .. }) => {
                    assert!(identical, "{engine:?}: {}", before.display());
                }
                Verdict::Accepted(Rewritten::NotBefore(reason)) => {
                    println!("{engine:?} refuses {}: {reason}", before.display());
                }
                Verdict::Refused(reason) => panic!("{engine:?}: {}: {reason}", before.display()),
            }
        }
    }
}

#[test]
fn random_networks_compute_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = Pairs::default();
    let (mut removed, mut folded) = (0, 0);
    for seed in 0..120 {
        if let Some(channels) = pairs.add(&*Net::new(seed, false).random(), folder.path()) {
            assert!(!channels.rounds_reals && channels.macs.saved() > 0, "{channels:?}");
            removed += channels.removed;
            folded += channels.folded;
        }
    }
    println!("{} of 120 networks, {removed} channels, {folded} biases", pairs.0.len());
    assert!(pairs.0.len() > 60 && removed > 300 && folded > 30);
    for engine in [Engine::Tflm, Engine::LiteRtReference, Engine::LiteRt] {
        pairs.judge(engine);
    }
}

#[test]
fn random_networks_of_floats_compute_the_same_bits_term_by_term() {
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = Pairs::default();
    for seed in 1000..1040 {
        if let Some(channels) = pairs.add(&*Net::new(seed, true).random(), folder.path()) {
            assert_eq!(channels.folded, 0);
        }
    }
    assert!(pairs.0.len() > 20, "{}", pairs.0.len());
    for engine in [Engine::Tflm, Engine::LiteRtReference] {
        pairs.judge(engine);
    }
}

/// A model of the collection: channels and multiplications, before and after.
const REAL: &[(&str, [u64; 2], [u64; 2])] = &[
    ("models/mlperf_tiny_vww_96_int8", [2738, 1014], [7_489_664, 3_727_313]),
    ("models/mobilenet_v1_0.25_128_quant", [3737, 3729], [13_570_304, 12_868_864]),
    ("models/mobilenet_v2_035_96_int8", [7050, 7046], [10_666_928, 10_664_750]),
    ("models/deeplabv3_mnv2_dm05_pascal_quant", [8677, 8671], [867_496_704, 858_778_236]),
    ("models/movenet_single_pose_lightning_ptq", [18_006, 17_962], [270_549_504, 265_832_208]),
    ("more-models/person_detect", [2738, 2737], [7_157_888, 7_155_582]),
];

#[test]
fn real_models_compute_the_same_bits() {
    let Some(models) = shared(".") else { return };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (mut pairs, mut small) = (Pairs::default(), Pairs::default());
    for (name, channels, macs) in REAL {
        let file = read(&models.join(format!("{name}.tflite")));
        // The larger ones take a while: they are for those who have it.
        let is_small = macs[0] < 20_000_000;
        let (pairs, folder) = if is_small { (&mut small, &folders[0]) } else { (&mut pairs, &folders[1]) };
        let found = pairs.add(&*file, folder.path()).unwrap();
        assert_eq!([found.channels.before, found.channels.after], *channels, "{name}");
        assert_eq!([found.macs.before, found.macs.after], *macs, "{name}");
        assert!(!found.rounds_reals);
        let (_, after) = pairs.0.last().unwrap();
        let new = std::fs::metadata(after).unwrap().len();
        println!(
            "{name}: {channels:?} channels, {macs:?} multiplications, file {} -> {new}",
            file.bytes().len()
        );
        // A name here and there is written anew, and that is all.
        assert!(new < file.bytes().len() as u64 + 512, "{name}");
    }
    for engine in [Engine::Tflm, Engine::LiteRtReference, Engine::LiteRt] {
        small.judge(engine);
        if serenity_judges::is_slow() {
            pairs.judge(engine);
        }
    }
}

#[test]
fn models_without_such_channels_stay_as_they_are() {
    let Some(models) = shared("models") else { return };
    for name in ["mlperf_tiny_resnet8_int8", "mlperf_tiny_kws_int8", "mlperf_tiny_resnet8_float"] {
        let file = read(&models.join(format!("{name}.tflite")));
        assert!(file.without_constant_channels(&|| false).unwrap().is_none(), "{name}");
    }
}

#[test]
fn inputs_and_outputs_keep_their_shapes() {
    for seed in 0..60 {
        let file = Net::new(seed, false).random();
        let Some((new, channels)) = file.without_constant_channels(&|| false).unwrap() else { continue };
        let ports = |file: &Arc<dyn ModelFile>| {
            let graph = &file.graphs()[0];
            let all = graph.inputs().iter().chain(graph.outputs());
            all.map(|&id| graph.tensor(id).clone()).collect::<Vec<_>>()
        };
        assert_eq!(ports(&file), ports(&new));
        let graph = &new.graphs()[0];
        assert!(graph.tensors().iter().all(|tensor| tensor.bytes > 0), "a channel must stay");
        let json = serde_json::json!(channels);
        assert_eq!(serde_json::from_value::<NarrowedChannels>(json).unwrap(), channels);
    }
}

/// Damaged constants and shapes must be refused or followed, never crash.
#[test]
fn damaged_files_give_a_model_or_an_error() {
    for seed in 0..4 {
        let bytes = Net::new(seed, false).random().bytes().into_owned();
        let mut draw = network::Draw::new(seed);
        for _ in 0..1500 {
            let mut damaged = bytes.clone();
            for _ in 0..=draw.below(3) {
                let at = draw.below(damaged.len() as u64) as usize;
                damaged[at] = match draw.below(3) {
                    0 => 0,
                    1 => 255,
                    _ => draw.below(256) as u8,
                };
            }
            if let Ok(file) = Format::TfLite.read(damaged, &ReadOptions::default()) {
                let _ = file.without_constant_channels(&|| false);
            }
        }
    }
}
