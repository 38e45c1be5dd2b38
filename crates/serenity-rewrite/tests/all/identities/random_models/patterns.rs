//! What rewriting looks for, in many variations.

use super::author::Author;
use serde_json::json;
use serenity_ir::{Operand, Quantization, TensorId};

impl Author {
    /// Any layer.
    pub(super) fn plain_layer(&mut self) {
        let x = self.any_map();
        self.any_reader(x);
    }

    /// A concatenation of channels, and what reads it.
    pub(super) fn concatenation(&mut self) {
        let x = self.any_map();
        let joined = self.join_channels(x);
        for _ in 0..self.rng.size(1, 3) {
            let mut x = joined;
            for _ in 0..self.rng.choose(&[0, 0, 1, 2, 3]) {
                x = self.any_step(x);
            }
            if !self.rng.one_in(5) {
                self.any_reader(x);
            }
        }
    }

    /// Two to five pieces: old ones, new ones, inputs, the same one twice.
    fn join_channels(&mut self, x: TensorId) -> TensorId {
        let (size, shape) = (self.image(x), self.shape(x));
        let quantization = self.quantization(x);
        let is_mixed = !self.recipe.for_litert && self.rng.one_in(4);
        let mut pieces = Vec::new();
        for _ in 0..self.rng.size(2, 5) {
            let candidates: Vec<TensorId> = self
                .maps_of_size(size)
                .into_iter()
                .filter(|&map| is_mixed || self.quantization(map) == quantization)
                .collect();
            let piece = self.rng.choose(&candidates);
            pieces.push(match self.rng.size(0, 5) {
                0 => self.new_input(size, quantization.clone()),
                1..=3 => {
                    let to = if is_mixed { self.any_quantization() } else { quantization.clone() };
                    let channels = self.rng.size(1, 5);
                    self.branch(piece, channels, to)
                }
                _ => piece,
            });
        }
        let channels = pieces.iter().map(|&piece| self.shape(piece)[3]).sum();
        self.join(&pieces, 3, &[shape[0], shape[1], shape[2], channels], quantization)
    }

    fn join(
        &mut self,
        pieces: &[TensorId],
        axis: usize,
        shape: &[u64],
        to: Option<Quantization>,
    ) -> TensorId {
        let is_activated = !self.recipe.for_litert && self.rng.one_in(12);
        let activation = if is_activated { "relu" } else { "none" };
        let attributes = json!({"axis": axis, "activation": activation});
        let operands = pieces.iter().copied().map(Operand::Activation).collect();
        let made = self.sketch.op("CONCATENATION", operands, attributes, shape, to);
        self.made(made, pieces)
    }

    /// Something of the same height and width, with so many channels, quantised like this.
    fn branch(&mut self, x: TensorId, channels: u64, to: Option<Quantization>) -> TensorId {
        let window = self.keeping_window();
        let has_channels = self.shape(x)[3];
        if channels.is_multiple_of(has_channels) && channels <= 3 * has_channels && self.rng.one_in(2) {
            return self.depthwise(x, &window, channels / has_channels, to);
        }
        self.convolution(x, &window, channels, to)
    }

    /// One op that works on each channel by itself.
    fn any_step(&mut self, x: TensorId) -> TensorId {
        let to = if self.rng.one_in(2) { self.quantization(x) } else { self.any_quantization() };
        match self.rng.size(0, 9) {
            0..=2 => self.unary(x, to),
            3..=4 => self.pool(x),
            5..=6 => self.scale_or_shift(x, to),
            7 => {
                let amounts = [[self.rng.size(0, 1), self.rng.size(0, 2)], [1, self.rng.size(0, 1)]];
                let more_channels = if self.rng.one_in(8) { [0, 1] } else { [0, 0] };
                self.pad(x, amounts, more_channels)
            }
            8 => self.resize(x),
            _ => {
                let window = self.any_window(self.image(x));
                self.depthwise(x, &window, 1, to)
            }
        }
    }

    /// One op of any kind.
    fn any_reader(&mut self, x: TensorId) -> TensorId {
        let window = self.any_window(self.image(x));
        let to = self.any_quantization();
        match self.rng.size(0, 9) {
            0..=3 => {
                let filters = self.rng.size(1, 6);
                self.convolution(x, &window, filters, to)
            }
            4..=6 => {
                let multiplier = self.rng.size(1, 3);
                self.depthwise(x, &window, multiplier, to)
            }
            7 => self.mean(x),
            _ => self.any_step(x),
        }
    }

    /// Two to six terms, added in a chain, in a tree or all at once.
    pub(super) fn sum(&mut self) {
        let x = self.any_map();
        let (size, channels) = (self.image(x), self.shape(x)[3]);
        let mut terms = vec![x];
        for _ in 0..self.rng.size(1, 5) {
            let candidates = self.maps_of_size(size);
            let from = self.rng.choose(&candidates);
            let is_term = self.shape(from)[3] == channels;
            let to = self.any_quantization();
            terms.push(match self.rng.size(0, 4) {
                0 if is_term => from,
                1 if is_term => self.unary(from, to),
                _ => self.branch(from, channels, to),
            });
        }
        let sum = match self.rng.size(0, 2) {
            0 if !self.recipe.is_int8 => self.add_all(&terms),
            1 => terms.clone().into_iter().skip(1).fold(terms[0], |sum, term| self.add(sum, term)),
            _ => {
                while terms.len() > 1 {
                    let [a, b] = [0, 1].map(|_| {
                        let at = self.rng.size(0, terms.len() as u64 - 1) as usize;
                        terms.swap_remove(at)
                    });
                    let sum = self.add(a, b);
                    terms.push(sum);
                }
                terms[0]
            }
        };
        if !self.rng.one_in(3) {
            self.any_reader(sum);
        }
    }

    /// Now and then an intermediate sum is read by something else too.
    fn add(&mut self, a: TensorId, b: TensorId) -> TensorId {
        let activation = if self.rng.one_in(6) { "relu" } else { "none" };
        let (shape, to) = (self.shape(a), self.any_quantization());
        let operands = vec![Operand::Activation(a), Operand::Activation(b)];
        let made = self.sketch.op("ADD", operands, json!({"activation": activation}), &shape, to.clone());
        let sum = self.made(made, &[a, b]);
        if self.rng.one_in(6) {
            self.unary(sum, to);
        }
        sum
    }

    fn add_all(&mut self, terms: &[TensorId]) -> TensorId {
        let operands = terms.iter().copied().map(Operand::Activation).collect();
        let shape = self.shape(terms[0]);
        let made = self.sketch.op("ADD_N", operands, json!({}), &shape, None);
        self.made(made, terms)
    }

    /// Zeros around an image, often just as many as `same` stands for, and one or two convolutions without padding.
    pub(super) fn padded_convolution(&mut self) {
        let x = self.any_map();
        let x = if self.rng.one_in(3) { self.join_channels(x) } else { x };
        let window = self.keeping_window();
        let mut amounts = window.padding_amounts(self.image(x));
        if self.rng.one_in(4) {
            amounts[0][1] += 1;
        }
        let padded = self.pad(x, amounts, [0, 0]);
        let window = window.valid();
        for _ in 0..self.rng.size(1, 2) {
            let to = self.any_quantization();
            if !window.fits(self.image(padded)) || self.rng.one_in(4) {
                self.any_step(padded);
            } else if self.rng.one_in(2) {
                self.convolution(padded, &window, 3, to);
            } else {
                self.depthwise(padded, &window, 1, to);
            }
        }
    }

    /// Rows or columns instead of channels.
    pub(super) fn concatenation_along_another_axis(&mut self) {
        let x = self.any_map();
        let (mut shape, to) = (self.shape(x), self.quantization(x));
        let axis = self.rng.size(1, 2) as usize;
        let branch = self.branch(x, shape[3], to.clone());
        shape[axis] *= 2;
        let joined = self.join(&[x, branch], axis, &shape, to);
        self.any_reader(joined);
    }
}
