//! What the kernels that call ESP-NN ask for; all others are the portable ones.
//!
//! Its kernels in C ask for next to nothing. Those for the ESP32-S3 copy their whole input and filter to where its
//! vectors can read them.

use super::reference;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, Window, counted_product};

/// The requests of the kernels in C, in order; `None` if there are none, or if the graph does not tell.
pub(crate) fn scratch(call: &Call) -> Option<Vec<u64>> {
    match call.operator() {
        SOFTMAX => softmax(call),
        _ => reference::scratch(call),
    }
}

/// The releases that differ in what the kernels for the ESP32-S3 ask for, each by its first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    V1_0_0,
    V1_2_0,
    V1_2_1,
    V1_2_3,
}

/// The requests of the kernels for the ESP32-S3 in ESP-NN 1.2.3.
pub(crate) fn scratch_s3(call: &Call) -> Option<Vec<u64>> {
    of_release(call, Release::V1_2_3)
}

/// The requests of the kernels for the ESP32-S3 in ESP-NN 1.0.0 to 1.1.2.
pub(crate) fn scratch_s3_1_1(call: &Call) -> Option<Vec<u64>> {
    of_release(call, Release::V1_0_0)
}

/// The requests of the kernels for the ESP32-S3 in ESP-NN 1.2.0.
pub(crate) fn scratch_s3_1_2_0(call: &Call) -> Option<Vec<u64>> {
    of_release(call, Release::V1_2_0)
}

/// The requests of the kernels for the ESP32-S3 in ESP-NN 1.2.1 and 1.2.2.
pub(crate) fn scratch_s3_1_2_1(call: &Call) -> Option<Vec<u64>> {
    of_release(call, Release::V1_2_1)
}

/// The requests of the kernels for the ESP32-S3, in order; `None` if there are none, or if the graph does not tell.
fn of_release(call: &Call, release: Release) -> Option<Vec<u64>> {
    let is_int8 = || call.described(0).is_some_and(|input| input.is(&ElementType::Int8));
    let copied = match call.operator() {
        CONV_2D if is_int8() => Shapes::of(call)?.convolution(release)?,
        DEPTHWISE_CONV_2D if is_int8() => match release {
            Release::V1_0_0 => Shapes::of(call)?.depthwise_convolution_before_1_2_1(16)?,
            Release::V1_2_0 => Shapes::of(call)?.depthwise_convolution_before_1_2_1(32)?,
            Release::V1_2_1 | Release::V1_2_3 => Shapes::of(call)?.depthwise_convolution()?,
        },
        _ => return scratch(call),
    };
    let mut requests = reference::scratch(call).unwrap_or_default();
    requests.push(copied);
    Some(requests)
}

/// A 32-bit value for each place along the second dimension: the kernel takes that for the width of a row, whatever the shape.
fn softmax(call: &Call) -> Option<Vec<u64>> {
    let (input, output) = (call.shape(0)?, call.described_result(0)?);
    let is_int8 = call.dtype(0)? == ElementType::Int8 && output.is(&ElementType::Int8);
    is_int8.then(|| Some(vec![counted_product(&[4, *input.get(1)?])?]))?
}

/// A window over a picture, rows first, as the library sees it: without dilation.
struct Shapes {
    input: [u64; 2],
    output: [u64; 2],
    channels: u64,
    results: u64,
    kernel: [u64; 2],
    stride: [u64; 2],
    padding: [u64; 2],
}

/// From so many bytes on, a copy of a depthwise convolution's input is made a few rows at a time.
const LARGE_BYTES: u64 = 40 * 1024;
const LARGE_WORDS: u64 = 48 * 1024;

impl Shapes {
    fn of(call: &Call) -> Option<Self> {
        let [_, height, width, channels] = call.described(0)?.dims()?;
        let [_, rows, columns, results] = call.described_result(0)?.dims()?;
        let (input, output, kernel) = ([height, width], [rows, columns], call.kernel()?);
        let stride = call.op.pair("stride")?;
        let dilation = call.op.pair("dilation").unwrap_or([1, 1]);
        let is_same = call.op.word("padding")? == "same";
        let before = |side: usize| {
            let [size, results] = [input, output].map(|sides| i64::try_from(sides[side]).ok());
            let missing =
                Window::new(kernel[side], stride[side], dilation[side])?.missing(size?, results?)?;
            Some(if is_same { missing.max(0) as u64 / 2 } else { 0 })
        };
        let padding = [before(0)?, before(1)?];
        Some(Self { input, output, channels, results, kernel, stride, padding })
    }

    /// Bytes of so many channels over the input with so many rows and columns more.
    fn picture(&self, [rows, columns]: [u64; 2], channels: u64) -> Option<u64> {
        counted_product(&[self.input[0].checked_add(rows)?, self.input[1].checked_add(columns)?, channels])
    }

    /// Rows and columns that windows reach beyond the input.
    fn beyond(&self) -> Option<[u64; 2]> {
        let beyond = |side: usize| {
            let reached = counted_product(&[self.output[side], self.stride[side]])?;
            Some((reached + self.kernel[side] - 1).saturating_sub(self.input[side]))
        };
        Some([beyond(0)?, beyond(1)?])
    }

    fn convolution(&self, release: Release) -> Option<u64> {
        let Self { channels, results, kernel: [height, width], .. } = *self;
        let to_align = if release < Release::V1_2_3 { 32 } else { 64 };
        let is_padded = self.padding != [0, 0];
        if self.kernel == [1, 1] && !is_padded && self.stride == [1, 1] {
            let padded = channels.next_multiple_of(8);
            let is_copied = channels % 8 != 0;
            let pixels = counted_product(&self.input)?;
            let copy = if is_copied { counted_product(&[pixels, padded])? } else { 0 };
            let turned = if pixels < 8 { 0 } else { 2 * 8 * padded };
            return Some(copy + counted_product(&[padded, results])? + turned + to_align);
        }
        let row = counted_product(&[width, channels])?;
        let window = counted_product(&[row, height])?;
        if release >= Release::V1_2_1 && row < 16 && window >= 16 {
            let window = window.next_multiple_of(16);
            return Some(4 * results + 16 + counted_product(&[results, window])? + 16 + window + to_align);
        }
        let [down, across] = self.padding;
        let padded = if is_padded { self.picture([2 * down, 2 * across], channels)? } else { 0 };
        let filter = counted_product(&[width, height, channels.next_multiple_of(16), results])?;
        if release < Release::V1_2_1 {
            return Some(padded + filter + to_align + 4 * results);
        }
        let aligned = counted_product(&[row.next_multiple_of(16), height, results])?;
        let beyond = self.beyond()?;
        let bounded = if beyond == [0, 0] { 0 } else { self.picture(beyond, channels)? };
        Some(padded + filter + aligned + bounded + to_align + 4 * results)
    }

    fn depthwise_convolution(&self) -> Option<u64> {
        let Self { channels, results, kernel: [height, width], .. } = *self;
        let multiplier = results.checked_div(channels)?;
        let filter = counted_product(&[width, height, results])?;
        let picture = self.picture([0, 0], channels)?;
        if multiplier == 1 && channels % 8 == 0 {
            if self.kernel != [3, 3] {
                let words = 2 * (filter + picture);
                let rows = counted_product(&[2, self.input[1], height, channels])?;
                return Some(if words <= LARGE_WORDS { words + 32 } else { 2 * filter + rows + 32 });
            }
            return self.three_by_three(filter, picture);
        }
        if multiplier == 1 && channels > 3 {
            let padded = channels.next_multiple_of(8);
            let filter = counted_product(&[2, width, height, padded])?.next_multiple_of(16);
            let input = (filter + 2 * self.picture([0, 0], padded)?).next_multiple_of(16);
            let output = counted_product(&[self.output[0], self.output[1], padded])?;
            return Some((input + output).next_multiple_of(16) + 12 * padded + 16);
        }
        Some(if multiplier % 4 == 0 { 2 * (filter + picture) + 32 } else { 32 })
    }

    /// Until 1.2.0, other kernels than those of 3 x 3 were not in assembly.
    fn depthwise_convolution_before_1_2_1(&self, to_align: u64) -> Option<u64> {
        let Self { channels, results, padding: [down, across], .. } = *self;
        let multiplier = results.checked_div(channels)?;
        let filter = counted_product(&[self.kernel[0], self.kernel[1], results])?;
        if multiplier == 1 && channels % 8 == 0 && self.kernel == [3, 3] {
            if channels % 16 != 0 {
                return Some(2 * (filter + self.picture([0, 0], channels)?) + to_align);
            }
            let is_padded = self.padding != [0, 0];
            let more = if is_padded { [2 * down, 2 * across] } else { self.beyond()? };
            let copied = if more == [0, 0] { 0 } else { self.picture(more, channels)? };
            return Some(filter + copied + 16);
        }
        let is_copied = multiplier % 4 == 0;
        Some(if is_copied { 2 * (filter + self.picture([0, 0], channels)?) + to_align } else { 32 })
    }

    fn three_by_three(&self, filter: u64, picture: u64) -> Option<u64> {
        let Self { channels, padding: [down, across], .. } = *self;
        let is_padded = self.padding != [0, 0];
        let beyond = self.beyond()?;
        if channels % 16 == 0 {
            let more = if is_padded { [2 * down, 2 * across] } else { beyond };
            if more == [0, 0] {
                return Some(filter + 16);
            }
            let whole = self.picture(more, channels)?;
            let strip = counted_product(&[self.input[1] + more[1], 3, channels])?;
            return Some(filter + if whole <= LARGE_BYTES { whole } else { strip } + 16);
        }
        if channels < 12 {
            return Some(2 * (filter + picture) + 32);
        }
        let padded = channels.next_multiple_of(16);
        let input = self.picture([2 * down + beyond[0], 2 * across + beyond[1]], padded)?;
        let output = counted_product(&[self.output[0], self.output[1], padded])?;
        Some(9 * padded + input + output + 64)
    }
}

#[cfg(test)]
mod tests {
    use crate::Kernels::{EspNn, EspNnS3, EspNnS3V1_1, EspNnS3V1_2_0, EspNnS3V1_2_1, Reference};
    use crate::testing::assert_scratch;

    /// A window of so many taps and results, over so many rows of so many channels.
    fn window(kind: &str, [taps, side, channels, results]: [u64; 4]) -> String {
        let filter = if kind == "CONV_2D" {
            format!("[{results},{taps},{taps},{channels}]")
        } else {
            format!("[1,{taps},{taps},{results}]")
        };
        format!(
            r#"int8[1,{side},{side},{results}] = {kind} int8[1,{side},{side},{channels}] int8#{filter} stride=[1,1] padding="same""#
        )
    }

    #[test]
    fn kernels_in_c_ask_for_a_row_of_a_softmax() {
        let softmax = "int8[1,12] = SOFTMAX int8[1,12]";
        let convolution = window("CONV_2D", [3, 8, 16, 16]);
        let floats = "float32[1,12] = SOFTMAX int8[1,12]";
        assert_scratch(EspNn, &[(softmax, &[48]), (floats, &[]), (&convolution, &[])]);
        assert_scratch(EspNnS3, &[(softmax, &[48])]);
        assert_scratch(Reference, &[(softmax, &[])]);
    }

    #[test]
    fn the_s3_copies_what_a_convolution_reads() {
        // The input with its padding, the filter twice, and the input once more with what windows reach beyond it.
        let copies = 10 * 10 * 16 + 9 * 16 * 8 + 48 * 3 * 8 + 10 * 10 * 16;
        for (sizes, bytes) in [
            // One pixel at a time: the filter, and eight pixels turned round; with another number of channels, the input too.
            ([1, 8, 16, 32], 16 * 32 + 2 * 8 * 16 + 64),
            ([1, 2, 12, 32], 4 * 16 + 16 * 32 + 64),
            // Few channels: windows one by one.
            ([3, 8, 3, 16], 64 + 16 + 16 * 32 + 16 + 32 + 64),
            ([3, 8, 16, 8], copies + 64 + 32),
        ] {
            assert_scratch(EspNnS3, &[(&window("CONV_2D", sizes), &[bytes])]);
        }
        let packed = window("CONV_2D", [1, 8, 16, 32]).replace("int8#", "int4#");
        assert_scratch(EspNnS3, &[(&packed, &[512, 512 + 256 + 64])]);
    }

    #[test]
    fn older_releases_copy_less_for_a_convolution() {
        for (sizes, [old, new]) in [
            // From 1.2.1 on, few channels go window by window, and the filter is copied a second time, as is the input
            // with what windows reach beyond it.
            ([3, 8, 3, 16], [10 * 10 * 3 + 9 * 16 * 16 + 32 + 64, 64 + 16 + 16 * 32 + 16 + 32 + 32]),
            ([3, 8, 16, 8], [1600 + 9 * 16 * 8 + 32 + 32, 1600 + 9 * 16 * 8 + 48 * 3 * 8 + 1600 + 32 + 32]),
            ([1, 8, 16, 32], [16 * 32 + 2 * 8 * 16 + 32; 2]),
        ] {
            let convolution = window("CONV_2D", sizes);
            for (kernels, bytes) in [(EspNnS3V1_1, old), (EspNnS3V1_2_0, old), (EspNnS3V1_2_1, new)] {
                assert_scratch(kernels, &[(&convolution, &[bytes])]);
            }
        }
    }

    #[test]
    fn older_releases_copy_less_for_a_depthwise_convolution() {
        for (sizes, [first, next, newer]) in [
            ([3, 8, 16, 16], [144 + 10 * 10 * 16 + 16; 3]),
            // All of a large input.
            ([3, 64, 16, 16], [144 + 66 * 66 * 16 + 16, 144 + 66 * 66 * 16 + 16, 144 + 66 * 3 * 16 + 16]),
            ([3, 8, 8, 8], [2 * (72 + 512) + 16, 2 * (72 + 512) + 32, 2 * (72 + 512) + 32]),
            ([5, 8, 16, 16], [32, 32, 2 * (400 + 1024) + 32]),
            ([3, 8, 6, 6], [32, 32, 144 + 1024 + 512 + 96 + 16]),
            ([3, 8, 2, 8], [2 * (72 + 128) + 16, 2 * (72 + 128) + 32, 2 * (72 + 128) + 32]),
        ] {
            let convolution = window("DEPTHWISE_CONV_2D", sizes);
            for (kernels, bytes) in [(EspNnS3V1_1, first), (EspNnS3V1_2_0, next), (EspNnS3V1_2_1, newer)] {
                assert_scratch(kernels, &[(&convolution, &[bytes])]);
            }
        }
    }

    #[test]
    fn the_s3_copies_what_a_depthwise_convolution_reads() {
        for (sizes, bytes) in [
            ([3, 8, 16, 16], 144 + 10 * 10 * 16 + 16),
            // A large input goes row by row.
            ([3, 64, 16, 16], 144 + 66 * 3 * 16 + 16),
            ([3, 8, 8, 8], 2 * (72 + 512) + 32),
            ([3, 8, 24, 24], 9 * 32 + 12 * 12 * 32 + 64 * 32 + 64),
            ([5, 8, 16, 16], 2 * (400 + 1024) + 32),
            ([3, 8, 6, 6], 144 + 1024 + 512 + 96 + 16),
            ([3, 8, 2, 8], 2 * (72 + 128) + 32),
            ([3, 8, 2, 2], 32),
        ] {
            assert_scratch(EspNnS3, &[(&window("DEPTHWISE_CONV_2D", sizes), &[bytes])]);
        }
    }
}
