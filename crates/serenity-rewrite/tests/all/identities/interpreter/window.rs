//! What slides over feature maps: convolutions and pools, whatever the elements are.

use super::attributes;
use super::grid::Grid;
use serenity_ir::Op;

/// Where a window looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    is_same: bool,
}

/// A place in the kernel, and the place in the input that it meets.
type Tap = ([usize; 2], [usize; 2]);

impl Window {
    pub(crate) fn of(op: &Op) -> Self {
        let is_same = match attributes::text(op, "padding") {
            "same" => true,
            "valid" => false,
            other => panic!("op `{}` has padding `{other}`", op.name),
        };
        let dilation =
            if op.attributes.contains_key("dilation") { attributes::pair(op, "dilation") } else { [1, 1] };
        Self {
            kernel: attributes::pair(op, "kernel"),
            stride: attributes::pair(op, "stride"),
            dilation,
            is_same,
        }
    }

    fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    /// How many results there are along height and width.
    fn results(&self, size: [usize; 2]) -> [usize; 2] {
        [0, 1].map(|axis| {
            let room =
                if self.is_same { size[axis] } else { (size[axis] + 1).saturating_sub(self.reach(axis)) };
            room.div_ceil(self.stride[axis])
        })
    }

    /// For every result, row by row, what its window meets.
    fn all_taps(&self, size: [usize; 2]) -> Grid<Vec<Tap>> {
        let [rows, columns] = self.results(size);
        let place = |at: usize| [at / columns, at % columns];
        let values = (0..rows * columns).map(|at| self.taps(size, place(at))).collect();
        Grid { shape: vec![rows, columns], values }
    }

    /// Row by row, what the window that makes result `at` meets of an input of this size; padding is left out.
    fn taps(&self, size: [usize; 2], at: [usize; 2]) -> Vec<Tap> {
        let results = self.results(size);
        let along = |axis: usize| {
            let spanned = (results[axis] - 1) * self.stride[axis] + self.reach(axis);
            let before = if self.is_same { spanned.saturating_sub(size[axis]) / 2 } else { 0 };
            let meets = move |tap: usize| {
                let place = (at[axis] * self.stride[axis] + tap * self.dilation[axis]).checked_sub(before)?;
                (place < size[axis]).then_some((tap, place))
            };
            (0..self.kernel[axis]).filter_map(meets).collect::<Vec<_>>()
        };
        let columns = along(1);
        let row = |(ky, y): (usize, usize)| columns.iter().map(move |&(kx, x)| ([ky, kx], [y, x]));
        along(0).into_iter().flat_map(row).collect()
    }

    fn check_kernel(&self, height: usize, width: usize) {
        assert_eq!(self.kernel, [height, width], "the attribute `kernel` and the shape of the kernel");
    }
}

/// How a convolution adds up: `sum` begins at `zero`, grows by `accumulate(sum, element, weight)`, and `finish(sum, filter)` makes the result.
pub(crate) struct Summation<S, Accumulate, Finish> {
    pub(crate) zero: S,
    pub(crate) accumulate: Accumulate,
    pub(crate) finish: Finish,
}

/// `CONV_2D`. A kernel with fewer channels than the input works on the channels in groups.
pub(crate) fn convolve<T: Copy, S: Copy>(
    x: &Grid<T>,
    kernel: &Grid<T>,
    window: &Window,
    sums: &Summation<S, impl Fn(S, T, T) -> S, impl Fn(S, usize) -> T>,
) -> Grid<T> {
    let ([batch, height, width, channels], [filters, kernel_height, kernel_width, depth]) =
        (x.four(), kernel.four());
    window.check_kernel(kernel_height, kernel_width);
    assert!(channels.is_multiple_of(depth), "a kernel for {depth} channels cannot read {channels}");
    let groups = channels / depth;
    assert!(filters.is_multiple_of(groups), "{filters} filters cannot be split into {groups} groups");
    let [rows, columns] = window.results([height, width]);
    let taps = window.all_taps([height, width]);
    Grid::from_fn(&[batch, rows, columns, filters], |at| {
        let first = at[3] / (filters / groups) * depth;
        let mut sum = sums.zero;
        for &([ky, kx], [y, column]) in taps.get(&[at[1], at[2]]) {
            for c in 0..depth {
                let element = x.at(&[at[0], y, column, first + c]);
                sum = (sums.accumulate)(sum, element, kernel.at(&[at[3], ky, kx, c]));
            }
        }
        (sums.finish)(sum, at[3])
    })
}

/// `DEPTHWISE_CONV_2D`: `multiplier` filters for each channel.
pub(crate) fn convolve_depthwise<T: Copy, S: Copy>(
    x: &Grid<T>,
    kernel: &Grid<T>,
    multiplier: usize,
    window: &Window,
    sums: &Summation<S, impl Fn(S, T, T) -> S, impl Fn(S, usize) -> T>,
) -> Grid<T> {
    let ([batch, height, width, channels], [one, kernel_height, kernel_width, filters]) =
        (x.four(), kernel.four());
    window.check_kernel(kernel_height, kernel_width);
    assert_eq!(
        (one, filters),
        (1, channels * multiplier),
        "filters of {channels} channels times {multiplier}"
    );
    let [rows, columns] = window.results([height, width]);
    let taps = window.all_taps([height, width]);
    Grid::from_fn(&[batch, rows, columns, filters], |at| {
        let taps = taps.get(&[at[1], at[2]]).iter();
        let sum = taps.fold(sums.zero, |sum, &([ky, kx], [y, column])| {
            let element = x.at(&[at[0], y, column, at[3] / multiplier]);
            (sums.accumulate)(sum, element, kernel.at(&[0, ky, kx, at[3]]))
        });
        (sums.finish)(sum, at[3])
    })
}

/// `MAX_POOL_2D` and `AVERAGE_POOL_2D`: what `reduce` makes of the elements that the window meets.
pub(crate) fn pool<T: Copy>(x: &Grid<T>, window: &Window, reduce: impl Fn(&[T]) -> T) -> Grid<T> {
    let [batch, height, width, channels] = x.four();
    let [rows, columns] = window.results([height, width]);
    let taps = window.all_taps([height, width]);
    Grid::from_fn(&[batch, rows, columns, channels], |at| {
        let met: Vec<T> = taps
            .get(&[at[1], at[2]])
            .iter()
            .map(|&(_, [y, column])| x.at(&[at[0], y, column, at[3]]))
            .collect();
        reduce(&met)
    })
}
