//! Who makes a random model: what there is so far, and what to do next.

use super::rng::Rng;
use crate::identities::sketch::{Sketch, affine};
use serenity_ir::{Model, Quantization, TensorId};
use std::collections::BTreeSet;

/// What a random model is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) seed: u64,
    /// Quantised 8-bit integers instead of floats.
    pub(crate) is_int8: bool,
    /// Without what LiteRT refuses: convolutions without bias, concatenations with an activation or of tensors of
    /// different quantisation.
    pub(crate) for_litert: bool,
}

/// The model of a seed.
pub(crate) fn random_model(recipe: Recipe) -> Model {
    let mut author = Author::new(recipe);
    for _ in 0..author.rng.size(2, 4) {
        match author.rng.size(0, 9) {
            0..=3 => author.concatenation(),
            4..=5 => author.sum(),
            6 => author.padded_convolution(),
            7 => author.concatenation_along_another_axis(),
            _ => author.plain_layer(),
        }
    }
    author.finish()
}

/// A model in the making. Feature maps are few pixels wide and have few channels.
pub(super) struct Author {
    pub(super) rng: Rng,
    pub(super) sketch: Sketch,
    pub(super) recipe: Recipe,
    /// Few different ones, so that tensors often share theirs.
    quantizations: Vec<Option<Quantization>>,
    batch: u64,
    /// All activations so far.
    maps: Vec<TensorId>,
    inputs: BTreeSet<TensorId>,
    read: BTreeSet<TensorId>,
}

impl Author {
    fn new(recipe: Recipe) -> Self {
        let mut rng = Rng::new(recipe.seed);
        let quantizations = if recipe.is_int8 {
            (0..3).map(|_| Some(affine(rng.real(0.03, 0.09), rng.between(-30, 30)))).collect()
        } else {
            vec![None]
        };
        let mut author = Self {
            batch: if rng.one_in(8) { 2 } else { 1 },
            rng,
            sketch: Sketch::new(&format!("random-{}", recipe.seed)),
            recipe,
            quantizations,
            maps: Vec::new(),
            inputs: BTreeSet::new(),
            read: BTreeSet::new(),
        };
        for _ in 0..author.rng.size(1, 2) {
            let size = [author.rng.size(1, 5), author.rng.size(1, 5)];
            let quantization = author.any_quantization();
            author.new_input(size, quantization);
        }
        author
    }

    /// All that nothing reads is a result, and now and then something else too.
    fn finish(mut self) -> Model {
        let mut outputs = Vec::new();
        for &map in &self.maps {
            let is_wanted = !self.read.contains(&map) || self.rng.one_in(10);
            if is_wanted && !self.inputs.contains(&map) {
                outputs.push(map);
            }
        }
        self.sketch.finish(&outputs)
    }

    pub(super) fn new_input(
        &mut self,
        [height, width]: [u64; 2],
        quantization: Option<Quantization>,
    ) -> TensorId {
        let channels = self.rng.size(1, 6);
        let input = self.sketch.input(&[self.batch, height, width, channels], quantization);
        self.maps.push(input);
        self.inputs.insert(input);
        input
    }

    /// Notes a new activation and what it was made of.
    pub(super) fn made(&mut self, map: TensorId, of: &[TensorId]) -> TensorId {
        self.maps.push(map);
        self.read.extend(of);
        map
    }

    pub(super) fn shape(&self, map: TensorId) -> [u64; 4] {
        self.sketch.get(map).shape.as_deref().and_then(|shape| shape.try_into().ok()).expect("a feature map")
    }

    /// Height and width.
    pub(super) fn image(&self, map: TensorId) -> [u64; 2] {
        let [_, height, width, _] = self.shape(map);
        [height, width]
    }

    pub(super) fn quantization(&self, map: TensorId) -> Option<Quantization> {
        self.sketch.get(map).quantization.clone()
    }

    pub(super) fn any_quantization(&mut self) -> Option<Quantization> {
        self.rng.choose(&self.quantizations)
    }

    /// An activation that is not too large to go on with; recent ones are more likely.
    pub(super) fn any_map(&mut self) -> TensorId {
        let small: Vec<TensorId> = self.maps.iter().copied().filter(|&map| self.is_small(map)).collect();
        let recent = if self.rng.one_in(2) { small.len().saturating_sub(4) } else { 0 };
        self.rng.choose(&small[recent..])
    }

    fn is_small(&self, map: TensorId) -> bool {
        let [_, height, width, channels] = self.shape(map);
        height <= 8 && width <= 8 && channels <= 24
    }

    /// All that have this height and width.
    pub(super) fn maps_of_size(&self, size: [u64; 2]) -> Vec<TensorId> {
        self.maps.iter().copied().filter(|&map| self.image(map) == size && self.is_small(map)).collect()
    }
}
