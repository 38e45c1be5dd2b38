//! The judges against figures of the real runtimes that were taken by hand, where the models are at hand
//! (`SERENITY_SHARED`, or `shared` beside the checkout).

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use serenity_judges::{Inputs, OrtOrder, Verdict, litert, ort, shared, tflm, tflm_within};
use std::path::PathBuf;

/// The paths of models; `None`, and said plainly, if they are not here.
fn models(names: &[&str]) -> Option<Vec<PathBuf>> {
    let folder = shared("models")?;
    Some(names.iter().map(|name| folder.join(name)).collect())
}

#[test]
fn tflm_records_head_and_total() {
    let known = [
        ("mlperf_tiny_resnet8_int8.tflite", 49_152, 55_984),
        ("mlperf_tiny_kws_int8.tflite", 16_000, 24_272),
        ("mlperf_tiny_vww_96_int8.tflite", 73_728, 103_680),
    ];
    let Some(paths) = models(&known.map(|(name, ..)| name)) else { return };
    let Some(verdicts) = tflm(&paths, &Inputs { runs: 2, seed: 7 }) else { return };
    for ((name, head, total), verdict) in known.iter().zip(&verdicts) {
        let report = verdict.accepted();
        assert_eq!((report.head, report.total, report.head + report.tail), (*head, *total, *total), "{name}");
        assert_eq!(report.outputs.as_ref().map(Vec::len), Ok(4), "{name}");
    }
    let Some(too_small) = tflm_within(16_000, &paths[1..2], &Inputs::default()) else { return };
    assert!(matches!(&too_small[0], Verdict::Refused(_)), "{too_small:?}");
}

#[test]
fn litert_arenas_are_told_from_the_heap_and_from_the_second_arena() {
    let known = [
        ("mlperf_tiny_kws_int8.tflite", 16_512, 0, 0),
        // Constants in 16-bit floats are unpacked into the second arena.
        ("face_detection_short_range.tflite", 1_769_472, 406_408, 0),
        // Shapes are computed while it runs.
        ("basic_pitch_nmp.tflite", 5_018_944, 0, 302_796),
        // Two state variables.
        ("tflm_mnist_lstm_int8.tflite", 1_812, 104, 0),
    ];
    let Some(paths) = models(&known.map(|(name, ..)| name)) else { return };
    let Some(verdicts) = litert(&paths, &Inputs::default()) else { return };
    for ((name, arena, persistent, heap), verdict) in known.iter().zip(&verdicts) {
        let main = &verdict.accepted().main;
        assert_eq!((main.arena, main.persistent, main.heap), (*arena, *persistent, *heap), "{name}");
        assert!(main.offsets.values().all(|offset| offset % 64 == 0), "{name}");
    }
}

#[test]
fn the_order_of_the_file_is_kept_by_one_mode_of_onnx_runtime() {
    let Some(paths) = models(&["yunet_n_320.onnx"]) else { return };
    let Some(by_file) = ort(OrtOrder::File, &paths, &Inputs::default()) else { return };
    let Some(by_default) = ort(OrtOrder::Default, &paths, &Inputs::default()) else { return };
    let (by_file, by_default) = (by_file[0].accepted(), by_default[0].accepted());
    assert_ne!(by_file.order, by_default.order);
    assert_eq!(by_file.outputs, by_default.outputs);
    assert_eq!((by_file.peak, by_file.requested_peak), (4_260_864, 3_277_824));
}

#[test]
fn what_is_no_model_is_refused_and_the_next_one_is_judged() {
    let Some(paths) = models(&["MANIFEST.md", "mlperf_tiny_kws_int8.tflite"]) else { return };
    let Some(verdicts) = tflm(&paths, &Inputs::default()) else { return };
    assert!(matches!(verdicts[0], Verdict::Refused(_)));
    assert_eq!(verdicts[1].accepted().head, 16_000);
    let Some(verdicts) = litert(&paths, &Inputs::default()) else { return };
    assert!(matches!(verdicts[0], Verdict::Refused(_)));
    assert_eq!(verdicts[1].accepted().main.arena, 16_512);
}
