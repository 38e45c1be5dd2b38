//! Removing channels of `.onnx` models that are constant or never read, judged by ONNX Runtime.

use super::network::Draw;
use super::read;
#[path = "../../../../serenity-onnx/tests/all/wire/mod.rs"]
mod wire;

use serenity_formats::{BeforeAfter, Format, ModelFile, ReadOptions};
use serenity_judges::{Inputs, Verdict, shared};
use std::path::PathBuf;
use std::sync::Arc;
use wire::{initializer, input, int_attribute, ints_attribute, node, number, record, value};

const UINT8: i64 = 2;
const INT8: i64 = 3;
const INT32: i64 = 6;

/// A network of `QLinearConv` in the making.
struct Net {
    draw: Draw,
    parts: Vec<Vec<u8>>,
    constants: usize,
}

impl Net {
    fn constant(&mut self, data_type: i64, shape: &[i64], data: Vec<u8>) -> String {
        let name = format!("c{}", self.constants);
        self.constants += 1;
        let dims: Vec<u8> = shape.iter().flat_map(|&size| number(1, size)).collect();
        let tensor = [dims, number(2, data_type), record(8, &name), record(9, data)].concat();
        self.parts.push(initializer(&tensor));
        name
    }

    fn real(&mut self, value: f32) -> String {
        self.constant(wire::FLOAT, &[], value.to_le_bytes().to_vec())
    }

    /// A convolution of a tensor with its scale and zero point; the same of the result.
    fn convolution(
        &mut self,
        from: &[String; 3],
        channels: [i64; 2],
        kernel: i64,
        group: i64,
        pad: i64,
    ) -> [String; 3] {
        let [read, written] = channels;
        let terms = read / group * kernel * kernel;
        let mut weights = Vec::new();
        let mut bias = Vec::new();
        for _ in 0..written {
            let is_dead = self.draw.below(3) == 0;
            // Half the range: kernels without VNNI add two products in 16 bits.
            let draw = &mut self.draw;
            weights.extend((0..terms).map(|_| if is_dead { 0 } else { (draw.below(127) as i64 - 63) as u8 }));
            bias.extend((self.draw.below(3000) as i32 - 1500).to_le_bytes());
        }
        let scales =
            (0..written).flat_map(|_| (0.001 + self.draw.below(30) as f32 / 1e4).to_le_bytes()).collect();
        let name = format!("t{}", self.constants);
        let zero_point = [0, 100, 128][self.draw.below(3) as usize];
        let weights = self.constant(INT8, &[written, read / group, kernel, kernel], weights);
        let scales = self.constant(wire::FLOAT, &[written], scales);
        let zeros = self.constant(INT8, &[written], vec![0; written as usize]);
        let scale = self.real(0.05);
        let zero_point = self.constant(UINT8, &[], vec![zero_point]);
        let bias = self.constant(INT32, &[written], bias);
        let operands = [&from[0], &from[1], &from[2], &weights, &scales, &zeros, &scale, &zero_point, &bias];
        let operands: Vec<&str> = operands.iter().map(|name| name.as_str()).collect();
        let attributes = [
            int_attribute("group", group),
            ints_attribute("kernel_shape", &[kernel, kernel]),
            ints_attribute("pads", &[pad; 4]),
        ];
        self.parts.push(node("QLinearConv", &operands, &[&name], &attributes));
        [name, scale, zero_point]
    }

    fn random(seed: u64) -> Vec<u8> {
        let mut net = Self { draw: Draw::new(seed), parts: Vec::new(), constants: 0 };
        let (scale, zero_point) = (net.real(0.02), net.constant(UINT8, &[], vec![128]));
        net.parts.push(record(2, "net"));
        net.parts.push(input("x", &[1, 3, 8, 8]));
        net.parts.push(node("QuantizeLinear", &["x", &scale, &zero_point], &["q"], &[]));
        let mut at = net.convolution(&["q".to_owned(), scale, zero_point], [3, 8], 3, 1, 1);
        at = net.convolution(&at, [8, 8], 1, 1, 0);
        at = net.convolution(&at, [8, 8], 3, 8, 1);
        let pooled = node("MaxPool", &[&at[0]], &["p"], &[ints_attribute("kernel_shape", &[2, 2])]);
        net.parts.push(pooled);
        "p".clone_into(&mut at[0]);
        at = net.convolution(&at, [8, 5], 1, 1, 0);
        net.parts.push(node("DequantizeLinear", &[&at[0], &at[1], &at[2]], &["y"], &[]));
        net.parts.push(record(12, value("y", wire::FLOAT, &[1, 5, 7, 7])));
        wire::model(&net.parts)
    }
}

/// Pairs of files in which ONNX Runtime must compute the same bits.
fn judge(before: &[PathBuf], after: &[PathBuf]) {
    let Some(verdicts) = serenity_judges::rewritten(before, after, &Inputs { runs: 2, seed: 4 }) else {
        return;
    };
    for (path, verdict) in before.iter().zip(verdicts) {
        match verdict {
            Verdict::Accepted(across) => assert!(across.difference <= 0.0, "{}: {across:?}", path.display()),
            Verdict::Refused(reason) => panic!("{}: {reason}", path.display()),
        }
    }
}

#[test]
fn quantised_convolutions_compute_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut folded = 0;
    for seed in 0..40 {
        let bytes = Net::random(seed);
        let file: Arc<dyn ModelFile> = Format::Onnx.read(bytes.clone(), &ReadOptions::default()).unwrap();
        let Some((new, channels)) = file.without_constant_channels(&|| false).unwrap() else { continue };
        assert!(!channels.rounds_reals && channels.removed > 0 && new.bytes().len() < bytes.len());
        folded += channels.folded;
        let paths = ["before", "after"].map(|which| folder.path().join(format!("{which} {seed}.onnx")));
        std::fs::write(&paths[0], bytes).unwrap();
        std::fs::write(&paths[1], new.bytes()).unwrap();
        let [old, new] = paths;
        before.push(old);
        after.push(new);
    }
    assert!(before.len() > 30 && folded > 30, "{} networks, {folded} biases", before.len());
    judge(&before, &after);
}

#[test]
fn a_real_model_that_quantises_computes_the_same_bits() {
    let Some(models) = shared("models") else { return };
    let folder = tempfile::tempdir().unwrap();
    let before = models.join("yunet_n_320_qdq_int8.onnx");
    let (new, channels) = read(&before).without_constant_channels(&|| false).unwrap().unwrap();
    let pair = |numbers: BeforeAfter| (numbers.before, numbers.after);
    assert_eq!([channels.channels, channels.macs].map(pair), [(2096, 2094), (135_598_400, 135_456_000)]);
    let after = folder.path().join("after.onnx");
    std::fs::write(&after, new.bytes()).unwrap();
    judge(&[before], &[after]);
}
