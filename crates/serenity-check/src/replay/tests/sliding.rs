//! Convolutions, pools, resizing.

use super::graphs::OneOp;
use super::naive::Naive;
use super::{Chance, Verdict, asked, assert_enough, assert_tight, nearest, replayed};
use serde_json::json;
use serenity_ir::ElementType::{self, Float32, Int8};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::Kernels::{self, CmsisNn, CmsisNnMve, Emitted, EmittedHelium, EspNn, Reference};
use serenity_runtimes::overlaps;
use std::collections::BTreeSet;

/// A window and what it slides over, all sides by chance.
pub(super) struct Window {
    batches: i64,
    input: [i64; 2],
    output: [i64; 2],
    pub(super) kernel: [i64; 2],
    stride: [i64; 2],
    dilation: [i64; 2],
    before: [i64; 2],
    is_same: bool,
}

impl Window {
    pub(super) fn by_chance(chance: &mut Chance, is_dilated: bool) -> Self {
        loop {
            let [kernel, stride] = [chance.pair(1, 4), chance.pair(1, 3)];
            // Wide enough for columns that the replay passes over.
            let input = [chance.from(1, 7), chance.from(1, 14)];
            let dilation = if is_dilated { chance.pair(1, 3) } else { [1, 1] };
            let is_same = chance.coin();
            let reach = [0, 1].map(|side| (kernel[side] - 1) * dilation[side] + 1);
            let output = [0, 1].map(|side| {
                let places = if is_same { input[side] } else { input[side] - reach[side] + 1 };
                (places + stride[side] - 1).div_euclid(stride[side])
            });
            let before = [0, 1].map(|side| {
                let missing = (output[side] - 1) * stride[side] + reach[side] - input[side];
                if is_same { missing.max(0) / 2 } else { 0 }
            });
            let batches = chance.from(1, 2);
            let window = Self { batches, input, output, kernel, stride, dilation, before, is_same };
            // Windows so wide that they see nothing but padding are left alone.
            if window.pixels().iter().any(|(_, under)| !under.is_empty()) {
                return window;
            }
        }
    }

    pub(super) fn describe(&self, op: OneOp) -> OneOp {
        let padding = if self.is_same { "same" } else { "valid" };
        op.with("kernel", json!(self.kernel))
            .with("stride", json!(self.stride))
            .with("dilation", json!(self.dilation))
            .with("padding", padding)
    }

    /// Output pixels in order, each with the input pixels under its window in order.
    fn pixels(&self) -> Vec<(i64, Vec<i64>)> {
        let mut pixels = Vec::new();
        for batch in 0..self.batches {
            for y in 0..self.output[0] {
                for x in 0..self.output[1] {
                    let pixel = (batch * self.output[0] + y) * self.output[1] + x;
                    let mut under = Vec::new();
                    for row in 0..self.kernel[0] {
                        for column in 0..self.kernel[1] {
                            let at = [
                                y * self.stride[0] - self.before[0] + row * self.dilation[0],
                                x * self.stride[1] - self.before[1] + column * self.dilation[1],
                            ];
                            if (0..2).all(|side| (0..self.input[side]).contains(&at[side])) {
                                under.push((batch * self.input[0] + at[0]) * self.input[1] + at[1]);
                            }
                        }
                    }
                    pixels.push((pixel, under));
                }
            }
        }
        pixels
    }

    pub(super) fn shapes(&self, input_depth: i64, output_depth: i64) -> [[i64; 4]; 2] {
        let shape = |[height, width]: [i64; 2], depth| [self.batches, height, width, depth];
        [shape(self.input, input_depth), shape(self.output, output_depth)]
    }
}

fn bytes(shape: &[i64], dtype: &ElementType) -> i64 {
    shape.iter().product::<i64>() * (dtype.bits().unwrap() / 8) as i64
}

/// Output channels in groups; each reads the input channels of its group.
fn convolution_trace(window: &Window, item: i64, groups: i64, reads: i64, writes: i64) -> Naive {
    let mut trace = Naive::of(item);
    for (pixel, under) in window.pixels() {
        for channel in 0..groups * writes {
            for read in &under {
                (0..reads).for_each(|c| {
                    trace.read((read * groups * reads + channel / writes * reads + c) * item);
                });
            }
            trace.write((pixel * groups * writes + channel + 1) * item);
        }
    }
    trace
}

#[test]
fn convolutions() {
    let mut chance = Chance(1);
    for _ in 0..400 {
        let window = Window::by_chance(&mut chance, true);
        let (groups, [reads, writes]) = (chance.from(1, 3), chance.pair(1, 4));
        let (dtype, item) = if chance.coin() { (Int8, 1) } else { (Float32, 4) };
        let [input, output] = window.shapes(groups * reads, groups * writes);
        let filter = [groups * writes, window.kernel[0], window.kernel[1], reads];
        let op = window.describe(OneOp::new("CONV_2D").reads(&input, &dtype).constant(&filter, &dtype));
        let op = op.gives(&output, &dtype);
        let trace = convolution_trace(&window, item, groups, reads, writes);
        assert_tight(op.clone(), Reference, bytes(&output, &dtype), &trace);

        let is_pointwise = window.kernel == [1, 1] || (window.kernel[0] == 1 && window.input[0] == 1);
        if dtype == Int8 && (groups > 1 || is_pointwise) {
            assert_eq!(asked(op, CmsisNn, 0, 0), None);
        } else {
            assert_eq!(asked(op.clone(), CmsisNn, 0, 0), asked(op, Reference, 0, 0));
        }
    }
}

/// What emitted C does from back to front: pixels from the last to the first, up to four channels at a time, all that
/// they are made of read before they are written. Is any byte lost with the output so far above the input? Channels are
/// in groups as in [`convolution_trace`].
fn loses_backwards(window: &Window, groups: i64, reads: i64, writes: i64, above: i64) -> bool {
    let (channels, mut written) = (groups * writes, BTreeSet::new());
    window.pixels().iter().rev().any(|(pixel, under)| {
        let fours = (0..channels).step_by(4).map(|first| first..(first + 4).min(channels));
        fours.into_iter().any(|four| {
            let sources: BTreeSet<i64> =
                four.clone().flat_map(|c| c / writes * reads..(c / writes + 1) * reads).collect();
            let is_written =
                |read: &i64| sources.iter().any(|source| written.contains(&(read * groups * reads + source)));
            let is_lost = under.iter().any(is_written);
            written.extend(four.map(|channel| above + pixel * channels + channel));
            is_lost
        })
    })
}

#[test]
fn emitted_convolutions_from_back_to_front() {
    let mut chance = Chance(9);
    let [mut apart, mut refused, mut wrong] = [0, 0, 0];
    for round in 0..400 {
        let window = Window { batches: 1, ..Window::by_chance(&mut chance, true) };
        let (is_depthwise, [height, width]) = (round % 2 == 0, window.kernel);
        let [groups, reads, writes] = if is_depthwise {
            [chance.from(1, 9), 1, chance.from(1, 2)]
        } else {
            [1, chance.from(1, 9), chance.from(1, 9)]
        };
        let [input, output] = window.shapes(groups * reads, groups * writes);
        let (kind, filter) = if is_depthwise {
            ("DEPTHWISE_CONV_2D", [1, height, width, groups * writes])
        } else {
            ("CONV_2D", [writes, height, width, reads])
        };
        let op = OneOp::new(kind).reads(&input, &Int8).constant(&filter, &Int8);
        let op = window.describe(op).gives(&output, &Int8);
        let (told, graph) = (op.to_string(), op.graph());
        let pair = [graph.op(OpId(0)).inputs[0], graph.op(OpId(0)).outputs[0]];
        let is_lost = |above: i64| loses_backwards(&window, groups, reads, writes, above);
        // What the replay calls safe is safe, and so is what the table allows.
        let all = bytes(&input, &Int8);
        for above in 1..=all {
            let is_safe = replayed(&graph, Emitted, pair, -above) == Verdict::Safe;
            assert!(!is_safe || !is_lost(above), "{told}, {above}");
        }
        let table = overlaps(&graph, OpId(0), Emitted);
        let Some(found) = table.iter().find(|found| found.is_backward) else { continue };
        let distance = found.distance as i64;
        for above in distance..=all {
            assert_eq!(replayed(&graph, Emitted, pair, -above), Verdict::Safe, "{told}, {above}");
        }
        if distance > 1 {
            apart += 1;
            refused += u32::from(replayed(&graph, Emitted, pair, 1 - distance) != Verdict::Safe);
            wrong += u32::from(is_lost(distance - 1));
        }
    }
    // A byte nearer is refused, but for windows with holes, or that leave out the last places. And it is wrong, but for
    // pixels of up to four channels, which are read before they are written.
    assert!(apart > 200 && refused * 10 >= apart * 7 && wrong * 3 > apart, "{apart}, {refused}, {wrong}");
}

/// Several pictures, groups of channels, other types and other kernels go from front to back.
#[test]
fn nothing_else_goes_from_back_to_front() {
    let op = |batches: i64, depth: i64, dtype: &ElementType| {
        let op = OneOp::new("CONV_2D").reads(&[batches, 9, 9, 8], dtype).constant(&[8, 1, 1, depth], dtype);
        let op = op.with("stride", json!([1, 1])).with("padding", "same");
        op.gives(&[batches, 9, 9, 8], dtype).graph()
    };
    let may = |graph: Graph, kernels: Kernels| {
        let pair = [graph.op(OpId(0)).inputs[0], graph.op(OpId(0)).outputs[0]];
        let is_allowed = overlaps(&graph, OpId(0), kernels).iter().any(|found| found.is_backward);
        let is_safe = replayed(&graph, kernels, pair, -16) == Verdict::Safe;
        assert_eq!(is_allowed, is_safe);
        is_safe
    };
    let may_do_so = [Emitted, EmittedHelium];
    assert!(may_do_so.iter().all(|&kernels| may(op(1, 8, &Int8), kernels)));
    assert!(!may(op(2, 8, &Int8), Emitted));
    assert!(!may(op(1, 4, &Int8), Emitted));
    assert!(!may(op(1, 8, &Float32), Emitted));
    for (_, kernels) in Kernels::all().filter(|(_, kernels)| !may_do_so.contains(kernels)) {
        assert!(!may(op(1, 8, &Int8), kernels));
    }
}

/// All pixels of a block of channels, then all of the next, as cores with vectors do it.
fn blocks_trace(window: &Window, channels: i64, block: i64) -> Vec<(Vec<i64>, i64)> {
    let mut steps = Vec::new();
    for first in (0..channels).step_by(block as usize) {
        for (pixel, under) in window.pixels() {
            for channel in first..(first + block).min(channels) {
                let reads = under.iter().map(|read| read * channels + channel).collect();
                steps.push((reads, pixel * channels + channel));
            }
        }
    }
    steps
}

#[test]
fn depthwise_convolutions_in_blocks_of_channels() {
    let mut chance = Chance(5);
    for round in 0..40 {
        let window = Window::by_chance(&mut chance, true);
        let channels = if round % 2 == 0 { 124 } else { 128 };
        let [input, output] = window.shapes(channels, channels);
        let filter = [1, window.kernel[0], window.kernel[1], channels];
        let op = OneOp::new("DEPTHWISE_CONV_2D").reads(&input, &Int8).constant(&filter, &Int8);
        let op = window.describe(op).gives(&output, &Int8);
        let (graph, pair) = op.clone().with_ends();
        let steps = blocks_trace(&window, channels, 124);
        let is_safe = |distance: i64| {
            let mut written = std::collections::BTreeSet::new();
            steps.iter().all(|(reads, write)| {
                let lost = reads.iter().any(|read| written.contains(&(read + distance)));
                written.insert(*write);
                !lost
            })
        };
        let found = overlaps(&graph, OpId(0), CmsisNnMve);
        let nearest = nearest(&graph, OpId(0), CmsisNnMve, pair[0], pair[1]);
        for overlap in &found {
            let distance = overlap.distance as i64;
            assert_eq!(overlap.exact, channels > 124, "{op}");
            assert!(
                is_safe(distance) && replayed(&graph, CmsisNnMve, pair, distance) == Verdict::Safe,
                "{op}"
            );
            let told = if overlap.exact { nearest.exactly } else { nearest.at_least };
            assert_eq!(told, Some(overlap.distance), "{op}");
        }
        // What the replay calls safe is safe.
        for distance in [0, 16, 64, 112, 128, 144, 256, 1024] {
            let verdict = replayed(&graph, CmsisNnMve, pair, distance);
            assert!(verdict != Verdict::Safe || is_safe(distance), "{op}, {distance}");
        }
        assert_eq!(found.is_empty(), overlaps(&graph, OpId(0), CmsisNn).is_empty(), "{op}");
        assert_eq!(asked(op.clone(), EspNn, 0, 0), asked(op, Reference, 0, 0));
    }
}

/// Without the filter's shape, a convolution may be a grouped one or not: the distance must do for both.
#[test]
fn convolutions_with_unknown_filters() {
    let mut chance = Chance(2);
    for _ in 0..100 {
        let window = Window::by_chance(&mut chance, false);
        let (groups, [reads, writes]) = (chance.from(1, 3), chance.pair(1, 4));
        let [input, output] = window.shapes(groups * reads, groups * writes);
        let op = window.describe(OneOp::new("CONV_2D").reads(&input, &Int8)).gives(&output, &Int8);
        let trace = convolution_trace(&window, 1, groups, reads, writes);
        assert_enough(op, Reference, &trace);
    }
}

#[test]
fn depthwise_convolutions() {
    let mut chance = Chance(3);
    for _ in 0..400 {
        let window = Window::by_chance(&mut chance, true);
        let (channels, multiplier) = (chance.from(1, 5), chance.from(1, 3));
        let [input, output] = window.shapes(channels, channels * multiplier);
        let filter = [1, window.kernel[0], window.kernel[1], channels * multiplier];
        let op = OneOp::new("DEPTHWISE_CONV_2D").reads(&input, &Int8).constant(&filter, &Int8);
        let op = window.describe(op).gives(&output, &Int8);
        let trace = convolution_trace(&window, 1, channels, 1, multiplier);
        assert_tight(op.clone(), Reference, bytes(&output, &Int8), &trace);
        if multiplier > 1 {
            assert_eq!(asked(op, CmsisNn, 0, 0), None);
        } else {
            assert_tight(op, CmsisNn, bytes(&output, &Int8), &trace);
        }
    }
}

#[test]
fn pools() {
    let mut chance = Chance(4);
    for _ in 0..400 {
        let window = Window::by_chance(&mut chance, false);
        let channels = chance.from(1, 5);
        let [input, output] = window.shapes(channels, channels);
        let trace = convolution_trace(&window, 1, channels, 1, 1);
        let average = window.describe(OneOp::new("AVERAGE_POOL_2D").reads(&input, &Int8));
        let mut whole = Naive::of(channels);
        for (pixel, under) in window.pixels() {
            for read in under {
                whole.read(read * channels);
            }
            whole.write((pixel + 1) * channels);
        }
        assert_tight(average.gives(&output, &Int8), CmsisNn, bytes(&output, &Int8), &whole);
        for kind in ["MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"] {
            let op = window.describe(OneOp::new(kind).reads(&input, &Int8)).gives(&output, &Int8);
            assert_tight(op, Reference, bytes(&output, &Int8), &trace);
        }

        // CMSIS-NN takes the first pixel as it is, then looks for larger ones.
        let mut trace = Naive::of(1);
        for (pixel, under) in window.pixels() {
            for (tap, read) in under.iter().enumerate() {
                if tap == 0 {
                    trace.copy(read * channels, pixel * channels, channels);
                } else {
                    (0..channels).for_each(|channel| trace.read(read * channels + channel));
                }
            }
            trace.write((pixel + 1) * channels);
        }
        let op = window.describe(OneOp::new("MAX_POOL_2D").reads(&input, &Int8)).gives(&output, &Int8);
        assert_tight(op, CmsisNn, bytes(&output, &Int8), &trace);
    }
}

/// Rows or columns that the kernels read for an output place: below and above, or the nearest.
fn places(
    kind: &str,
    dtype: &ElementType,
    place: i64,
    sides: [i64; 2],
    corners: bool,
    half: bool,
) -> Vec<i64> {
    let [input, output] = sides;
    let [read, write] = if corners && output > 1 { [input - 1, output - 1] } else { [input, output] };
    let factor = read as f32 / write as f32;
    if kind == "RESIZE_NEAREST_NEIGHBOR" {
        let scaled = (place as f32 + if half { 0.5 } else { 0.0 }) * factor;
        return vec![((if corners { scaled.round() } else { scaled.floor() }) as i64).min(input - 1)];
    }
    let [below, above] = if *dtype == Float32 {
        let scaled = if half { (place as f32 + 0.5) * factor - 0.5 } else { place as f32 * factor };
        [scaled.floor() as i64, scaled.ceil() as i64]
    } else {
        let factor = (1024 * read + write / 2) / write;
        let scaled = place * factor + if half { factor / 2 - 512 } else { 0 };
        [scaled / 1024, (scaled + 1023) / 1024]
    };
    vec![below.max(0), above.min(input - 1)]
}

#[test]
fn resizing() {
    let mut chance = Chance(5);
    for _ in 0..600 {
        let ([input, output], [batches, depth]) =
            ([chance.pair(1, 9), chance.pair(1, 17)], chance.pair(1, 3));
        let (dtype, item) = if chance.coin() { (Int8, 1) } else { (Float32, 4) };
        let kind = if chance.coin() { "RESIZE_BILINEAR" } else { "RESIZE_NEAREST_NEIGHBOR" };
        let [corners, half] = [[false, false], [true, false], [false, true]][chance.from(0, 2) as usize];
        let read_places =
            |side: usize, place| places(kind, &dtype, place, [input[side], output[side]], corners, half);
        let mut trace = Naive::of(item);
        for pixel in 0..batches * output[0] * output[1] {
            let (y, x) = (pixel / output[1] % output[0], pixel % output[1]);
            let mut under = Vec::new();
            for row in read_places(0, y) {
                for column in read_places(1, x) {
                    let batch = pixel / (output[0] * output[1]);
                    under.push(((batch * input[0] + row) * input[1] + column) * depth * item);
                }
            }
            let to = pixel * depth * item;
            if kind == "RESIZE_NEAREST_NEIGHBOR" {
                trace.copy(under[0], to, depth * item);
            } else {
                for channel in 0..depth {
                    for pixel in &under {
                        trace.read(pixel + channel * item);
                    }
                    trace.write(to + (channel + 1) * item);
                }
            }
        }
        let [shape, scaled] = [input, output].map(|[height, width]| [batches, height, width, depth]);
        let op = OneOp::new(kind).reads(&shape, &dtype).values(&output).gives(&scaled, &dtype);
        let op = op.with("align_corners", corners).with("half_pixel_centers", half);
        assert_tight(op.clone(), Reference, bytes(&scaled, &dtype), &trace);
        assert_tight(op, CmsisNn, bytes(&scaled, &dtype), &trace);
    }
}

/// Pixel by pixel, each of these replays would take more than a second.
#[test]
fn large_pictures_are_replayed_by_rows() {
    let op = OneOp::new("DEPTHWISE_CONV_2D").reads(&[1, 4096, 4096, 4], &Int8);
    let op = op.constant(&[1, 3, 3, 4], &Int8).gives(&[1, 4096, 4096, 4], &Int8);
    let op = op.with("kernel", json!([3, 3])).with("stride", json!([1, 1])).with("padding", "same");
    let distance = asked(op.clone(), Reference, 0, 0).unwrap();
    let (graph, pair) = op.with_ends();
    let started = std::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(replayed(&graph, Reference, pair, distance), Verdict::Safe);
        for nearer in [distance - 1, 0, -64, -distance] {
            assert_ne!(replayed(&graph, Reference, pair, nearer), Verdict::Safe, "{nearer}");
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn extremes_do_no_harm() {
    let most = i64::from(i32::MAX);
    let extremes = [0, 1, 2, 3, most - 1, most, most + 1, i64::MAX];
    let mut chance = Chance(6);
    let mut one_of = move || extremes[chance.from(0, 7) as usize];
    for _ in 0..2000 {
        let mut op = OneOp::new("CONV_2D").reads(&[1, 3, 2, 1], &Int8);
        op = op.constant(&[1, one_of(), one_of(), one_of()], &Int8).gives(&[1, 1, 2, 1], &Int8);
        for name in ["stride", "dilation", "kernel"] {
            op = op.with(name, json!([one_of(), one_of()]));
        }
        for padding in ["same", "valid", "explicit"] {
            let _any_result_will_do = asked(op.clone().with("padding", padding), Reference, 0, 0);
        }
    }
    let long = OneOp::new("CONV_2D").reads(&[1, most, 1, 1], &Int8).gives(&[1, most, 1, 1], &Int8);
    let long = long.with("kernel", json!([3, 1])).with("stride", json!([1, 1])).with("padding", "same");
    assert_eq!(asked(long, Reference, 0, 0), Some(1));
}
