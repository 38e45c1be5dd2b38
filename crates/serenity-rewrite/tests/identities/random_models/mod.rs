//! Small random models, rich in places where identities hold, and in places where they almost hold.

mod author;
mod layers;
mod patterns;
mod rng;

pub(crate) use author::{Recipe, random_model};
pub(crate) use rng::Rng;

use crate::interpreter::{Data, Grid};
use serenity_ir::{ElementType, Model};

/// Inputs for a model: floats from -2 to 2, or all integers.
pub(crate) fn random_inputs(model: &Model, seed: u64) -> Vec<Data> {
    let mut rng = Rng::new(seed);
    let tensors = model.graph().inputs().iter().map(|&input| model.graph().tensor(input));
    tensors
        .map(|tensor| {
            let shape: Vec<usize> = tensor.shape.iter().flatten().map(|&size| size as usize).collect();
            if tensor.dtype == Some(ElementType::Int8) {
                Data::Int8(Grid::from_fn(&shape, |_| rng.between(-128, 127) as i8))
            } else {
                Data::Float(Grid::from_fn(&shape, |_| rng.real(-2.0, 2.0)))
            }
        })
        .collect()
}
