//! Images of another size, as `TFLite`'s reference kernels make them.

use super::attributes;
use super::grid::Grid;
use super::real::Real;
use serenity_ir::Op;

/// How places of the result are mapped to places of the input.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    align_corners: bool,
    half_pixel_centers: bool,
}

impl Mapping {
    pub(crate) fn of(op: &Op) -> Self {
        Self {
            align_corners: attributes::is_set(op, "align_corners"),
            half_pixel_centers: attributes::is_set(op, "half_pixel_centers"),
        }
    }

    fn aligns(self, to: usize) -> bool {
        self.align_corners && to > 1
    }

    fn scale(self, from: usize, to: usize) -> f32 {
        if self.aligns(to) { (from - 1) as f32 / (to - 1) as f32 } else { from as f32 / to as f32 }
    }

    fn nearest(self, at: usize, from: usize, to: usize) -> usize {
        let offset = if self.half_pixel_centers { 0.5 } else { 0.0 };
        let place = (at as f32 + offset) * self.scale(from, to);
        let place = if self.align_corners { place.round() } else { place.floor() };
        (place as usize).min(from - 1)
    }

    /// The elements before and after a place, and how far it is from the first one.
    fn between(self, at: usize, from: usize, to: usize) -> (usize, usize, f32) {
        let scale = self.scale(from, to);
        let place = if self.half_pixel_centers { (at as f32 + 0.5) * scale - 0.5 } else { at as f32 * scale };
        let lower = place.floor().max(0.0) as usize;
        let upper = (place.ceil() as usize).min(from - 1);
        (lower, upper, place - lower as f32)
    }

    /// The elements before and after a place, and how far it is from the first one in steps of 1/1024, which is how
    /// integers are resized.
    fn between_in_steps(self, at: usize, from: usize, to: usize) -> (usize, usize, i32) {
        const ONE: i32 = 1 << 10;
        let (at, from, to) = (at as i32, from as i32, to as i32);
        let scale = if self.aligns(to as usize) {
            (ONE * (from - 1) + (to - 1) / 2) / (to - 1)
        } else {
            (ONE * from + to / 2) / to
        };
        let place = if self.half_pixel_centers { at * scale + scale / 2 - ONE / 2 } else { at * scale };
        let lower = (place / ONE).max(0);
        let upper = ((place + ONE - 1) / ONE).min(from - 1);
        (lower as usize, upper as usize, place - ONE * lower)
    }
}

/// `RESIZE_NEAREST_NEIGHBOR`.
pub(crate) fn nearest<T: Copy>(x: &Grid<T>, size: [usize; 2], mapping: Mapping) -> Grid<T> {
    let [batch, height, width, channels] = x.four();
    Grid::from_fn(&[batch, size[0], size[1], channels], |at| {
        let (y, column) = (mapping.nearest(at[1], height, size[0]), mapping.nearest(at[2], width, size[1]));
        x.at(&[at[0], y, column, at[3]])
    })
}

/// `RESIZE_BILINEAR` of floats.
pub(crate) fn bilinear<R: Real>(x: &Grid<R>, size: [usize; 2], mapping: Mapping) -> Grid<R> {
    let [batch, height, width, channels] = x.four();
    Grid::from_fn(&[batch, size[0], size[1], channels], |at| {
        let (top, bottom, down) = mapping.between(at[1], height, size[0]);
        let (left, right, across) = mapping.between(at[2], width, size[1]);
        let corner = |y: usize, column: usize| x.at(&[at[0], y, column, at[3]]);
        let ([up, down], [back, across]) = ([1.0 - down, down].map(R::of), [1.0 - across, across].map(R::of));
        corner(top, left) * up * back
            + corner(bottom, left) * down * back
            + corner(top, right) * up * across
            + corner(bottom, right) * down * across
    })
}

/// `RESIZE_BILINEAR` of integers.
pub(crate) fn bilinear_int8(x: &Grid<i8>, size: [usize; 2], mapping: Mapping) -> Grid<i8> {
    const ONE: i64 = 1 << 10;
    let [batch, height, width, channels] = x.four();
    Grid::from_fn(&[batch, size[0], size[1], channels], |at| {
        let (top, bottom, down) = mapping.between_in_steps(at[1], height, size[0]);
        let (left, right, across) = mapping.between_in_steps(at[2], width, size[1]);
        let (down, across) = (i64::from(down), i64::from(across));
        let corner = |y: usize, column: usize| i64::from(x.at(&[at[0], y, column, at[3]]));
        let sum = corner(top, left) * (ONE - down) * (ONE - across)
            + corner(bottom, left) * down * (ONE - across)
            + corner(top, right) * (ONE - down) * across
            + corner(bottom, right) * down * across;
        let half = if sum > 0 { ONE * ONE / 2 } else { -ONE * ONE / 2 };
        ((sum + half) / (ONE * ONE)) as i8
    })
}
