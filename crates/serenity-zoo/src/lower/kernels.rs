//! The basic ops on real numbers: simple, and the same on every platform.
//!
//! Sums are taken in one fixed order, so no result depends on the machine.

use crate::net::Window;
use serenity_ir::Slide;

/// A feature map, height by width by channels; a vector is one position of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Map {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) values: Vec<f32>,
}

impl Map {
    /// A map of zeros for a tensor of this shape, whose batch is 1.
    pub(super) fn zeros(shape: &[u64]) -> Self {
        let size = |place: usize| shape.get(place).map_or(1, |&size| size as usize);
        let (height, width, channels) = match shape.len() {
            4 => (size(1), size(2), size(3)),
            _ => (1, 1, shape.last().map_or(1, |&size| size as usize)),
        };
        Self { height, width, channels, values: vec![0.0; height * width * channels] }
    }

    /// The channels at one position.
    fn at(&self, y: usize, x: usize) -> &[f32] {
        let start = (y * self.width + x) * self.channels;
        &self.values[start..start + self.channels]
    }

    fn at_mut(&mut self, y: usize, x: usize) -> &mut [f32] {
        let start = (y * self.width + x) * self.channels;
        &mut self.values[start..start + self.channels]
    }
}

/// `CONV_2D` without bias; `kernel` is filters by height by width by channels.
pub(super) fn convolve(x: &Map, kernel: &[f32], window: &Window, mut out: Map) -> Map {
    let (channels, filters) = (x.channels, out.channels);
    // With the filters innermost, the inner loop is a vector operation.
    let taps = kernel.len() / filters;
    let mut by_tap = vec![0.0; kernel.len()];
    for (filter, weights) in kernel.chunks_exact(taps).enumerate() {
        for (tap, &weight) in weights.iter().enumerate() {
            by_tap[tap * filters + filter] = weight;
        }
    }
    slide(x, window, &mut out, |sums, tap, pixel| {
        let rows = by_tap[tap * channels * filters..].chunks_exact(filters);
        for (&value, row) in pixel.iter().zip(rows) {
            // Half of what follows a ReLU is zero.
            if value != 0.0 {
                for (sum, &weight) in sums.iter_mut().zip(row) {
                    *sum += value * weight;
                }
            }
        }
    });
    out
}

/// `DEPTHWISE_CONV_2D` without bias; `kernel` is height by width by channels.
pub(super) fn convolve_depthwise(x: &Map, kernel: &[f32], window: &Window, mut out: Map) -> Map {
    let channels = x.channels;
    slide(x, window, &mut out, |sums, tap, pixel| {
        let row = &kernel[tap * channels..(tap + 1) * channels];
        for ((sum, &value), &weight) in sums.iter_mut().zip(pixel).zip(row) {
            *sum += value * weight;
        }
    });
    out
}

/// `AVERAGE_POOL_2D`, which leaves padding out of the average.
pub(super) fn average_pool(x: &Map, window: &Window, mut out: Map) -> Map {
    let mut covered = vec![0_u32; out.height * out.width];
    let channels = out.channels;
    for (y, column) in positions(&out) {
        covered[y * out.width + column] = window_taps(x, window, y, column).count() as u32;
    }
    slide(x, window, &mut out, |sums, _, pixel| {
        for (sum, &value) in sums.iter_mut().zip(pixel) {
            *sum += value;
        }
    });
    for (sums, &count) in out.values.chunks_exact_mut(channels).zip(&covered) {
        for sum in sums {
            *sum /= count.max(1) as f32;
        }
    }
    out
}

/// `MAX_POOL_2D`.
pub(super) fn max_pool(x: &Map, window: &Window, mut out: Map) -> Map {
    out.values.fill(f32::MIN);
    slide(x, window, &mut out, |largest, _, pixel| {
        for (largest, &value) in largest.iter_mut().zip(pixel) {
            *largest = largest.max(value);
        }
    });
    out
}

/// Calls `visit` for every position of the output and every tap of the window that lies inside the input.
fn slide(x: &Map, window: &Window, out: &mut Map, mut visit: impl FnMut(&mut [f32], usize, &[f32])) {
    for (y, column) in positions(out) {
        for (tap, at_y, at_x) in window_taps(x, window, y, column) {
            visit(out.at_mut(y, column), tap, x.at(at_y, at_x));
        }
    }
}

fn positions(map: &Map) -> impl Iterator<Item = (usize, usize)> + use<> {
    let width = map.width;
    (0..map.height).flat_map(move |y| (0..width).map(move |x| (y, x)))
}

/// The taps of a window at one position of the output: their number, and where in the input they lie.
fn window_taps(
    x: &Map,
    window: &Window,
    out_y: usize,
    out_x: usize,
) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
    let slides = window.along(0, x.height as u64).zip(window.along(1, x.width as u64));
    slides.into_iter().flat_map(move |(rows, columns)| {
        let taps = |slide: Slide, out: usize| {
            (0..slide.window.taps).filter_map(move |tap| Some((tap, slide.element(out as i64, tap)?)))
        };
        taps(rows, out_y).flat_map(move |(row, y)| {
            taps(columns, out_x).map(move |(column, x)| {
                ((row * columns.window.taps + column) as usize, y as usize, x as usize)
            })
        })
    })
}

/// `FULLY_CONNECTED` without bias; `kernel` is outputs by inputs.
pub(super) fn multiply(x: &Map, kernel: &[f32], mut out: Map) -> Map {
    for (sum, row) in out.values.iter_mut().zip(kernel.chunks_exact(x.values.len())) {
        *sum = x.values.iter().zip(row).map(|(value, weight)| value * weight).sum();
    }
    out
}

/// Each channel times its factor, plus its shift.
pub(super) fn scale_and_shift(map: &mut Map, factors: &[f32], shifts: &[f32]) {
    for pixel in map.values.chunks_exact_mut(factors.len()) {
        for ((value, factor), shift) in pixel.iter_mut().zip(factors).zip(shifts) {
            *value = *value * factor + shift;
        }
    }
}

/// `ADD`.
pub(super) fn add(a: &Map, b: &Map, mut out: Map) -> Map {
    for ((sum, a), b) in out.values.iter_mut().zip(&a.values).zip(&b.values) {
        *sum = a + b;
    }
    out
}

/// `MUL` by one number.
pub(super) fn scale(x: &Map, factor: f32, mut out: Map) -> Map {
    for (product, value) in out.values.iter_mut().zip(&x.values) {
        *product = value * factor;
    }
    out
}

/// `CONCATENATION` of the channels.
pub(super) fn concatenate(pieces: &[&Map], mut out: Map) -> Map {
    for (y, x) in positions(&out) {
        let mut rest = out.at_mut(y, x);
        for piece in pieces {
            let (here, behind) = rest.split_at_mut(piece.channels);
            here.copy_from_slice(piece.at(y, x));
            rest = behind;
        }
    }
    out
}

/// `PAD` below and to the right, or `STRIDED_SLICE` from `first` on: whatever of `x` lies inside `out`.
pub(super) fn crop_or_pad(x: &Map, first: usize, mut out: Map) -> Map {
    for (y, column) in positions(&out) {
        if y + first < x.height && column + first < x.width {
            out.at_mut(y, column).copy_from_slice(x.at(y + first, column + first));
        }
    }
    out
}

/// `MEAN` over all positions.
pub(super) fn mean(x: &Map, mut out: Map) -> Map {
    let count = (x.height * x.width) as f32;
    for pixel in x.values.chunks_exact(x.channels) {
        for (sum, value) in out.values.iter_mut().zip(pixel) {
            *sum += value / count;
        }
    }
    out
}

/// The activation of this name.
pub(super) fn activate(map: &mut Map, activation: &str) {
    let highest = match activation {
        "relu" => f32::MAX,
        "relu6" => 6.0,
        _ => return,
    };
    map.values.iter_mut().for_each(|value| *value = value.clamp(0.0, highest));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(height: usize, width: usize, channels: usize, values: &[f32]) -> Map {
        Map { height, width, channels, values: values.to_vec() }
    }

    fn zeros(height: u64, width: u64, channels: u64) -> Map {
        Map::zeros(&[1, height, width, channels])
    }

    /// 1 to 9, row by row.
    fn square() -> Map {
        map(3, 3, 1, &[1., 2., 3., 4., 5., 6., 7., 8., 9.])
    }

    #[test]
    fn padding_is_split_as_tflite_splits_it() {
        let ones = [1.0; 9];
        let window = Window::square(3);
        let sums = convolve(&square(), &ones, &window, zeros(3, 3, 1));
        assert_eq!(sums.values, [12., 21., 16., 27., 45., 33., 24., 39., 28.]);
        assert_eq!(convolve_depthwise(&square(), &ones, &window, zeros(3, 3, 1)), sums);
        assert_eq!(convolve(&square(), &ones, &window.valid(), zeros(1, 1, 1)).values, [45.]);
        // 2x2 at stride 2 on 3x3: one row and one column of padding, both after the end.
        let halved = convolve(&square(), &[1.0; 4], &Window::square(2).stride(2), zeros(2, 2, 1));
        assert_eq!(halved.values, [12., 9., 15., 9.]);
        // Dilated by 2, a corner sees all corners, and the middle of a side the middles of its own and the opposite one.
        let dilated = Window { dilation: [2, 2], ..window };
        assert_eq!(convolve(&square(), &ones, &dilated, zeros(3, 3, 1)).values[..2], [20., 10.]);
    }

    #[test]
    fn filters_and_channels_stand_where_the_layout_says() {
        let x = map(1, 1, 2, &[1., 10.]);
        let kernel = [1., 2., 3., 4., 5., 6.];
        assert_eq!(convolve(&x, &kernel, &Window::square(1), zeros(1, 1, 3)).values, [21., 43., 65.]);
        assert_eq!(multiply(&x, &kernel, zeros(1, 1, 3)).values, [21., 43., 65.]);
        assert_eq!(convolve_depthwise(&x, &[2., 3.], &Window::square(1), zeros(1, 1, 2)).values, [2., 30.]);
    }

    #[test]
    fn pools_leave_padding_out() {
        let window = Window::square(3).stride(2);
        assert_eq!(average_pool(&square(), &window, zeros(2, 2, 1)).values, [3., 4., 6., 7.]);
        assert_eq!(max_pool(&square(), &window, zeros(2, 2, 1)).values, [5., 6., 8., 9.]);
        assert_eq!(mean(&map(1, 2, 2, &[1., 2., 3., 4.]), zeros(1, 1, 2)).values, [2., 3.]);
    }

    #[test]
    fn pieces_are_joined_channel_by_channel_and_cut_row_by_row() {
        let joined =
            concatenate(&[&map(1, 2, 1, &[1., 2.]), &map(1, 2, 2, &[3., 4., 5., 6.])], zeros(1, 2, 3));
        assert_eq!(joined.values, [1., 3., 4., 2., 5., 6.]);
        assert_eq!(crop_or_pad(&square(), 1, zeros(2, 2, 1)).values, [5., 6., 8., 9.]);
        let padded = crop_or_pad(&square(), 0, zeros(4, 4, 1));
        assert_eq!(padded.values[..8], [1., 2., 3., 0., 4., 5., 6., 0.]);
    }

    #[test]
    fn activations_cut_off() {
        let mut x = map(1, 1, 3, &[-1., 3., 7.]);
        activate(&mut x, "none");
        assert_eq!(x.values, [-1., 3., 7.]);
        activate(&mut x, "relu6");
        assert_eq!(x.values, [0., 3., 6.]);
    }
}
