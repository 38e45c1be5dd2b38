//! The shape of a tensor as people write it.

use crate::ReadOptions;
use serenity_ir::ElementType;
use std::fmt;
use std::str::FromStr;

/// A tensor and its shape, as in `input=1,3,224,224`. The type of its elements may follow: `output=1,64:float32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenShape {
    /// The name of the tensor.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// The type of its elements, if it was said.
    pub dtype: Option<ElementType>,
}

impl ReadOptions {
    /// These options with shapes that were said.
    #[must_use]
    pub fn with_shapes(mut self, shapes: &[GivenShape]) -> Self {
        for GivenShape { name, dims, dtype } in shapes {
            self.shapes.insert(name.clone(), dims.clone());
            if let Some(dtype) = dtype {
                self.types.insert(name.clone(), dtype.clone());
            }
        }
        self
    }
}

impl FromStr for GivenShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A name may hold anything, a shape only digits and commas, and perhaps a type.
        let parts = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let (dims, dtype) = parts.map_or(("", None), |(_, shape)| match shape.split_once(':') {
            Some((dims, dtype)) => (dims, Some(ElementType::parse(dtype.trim()))),
            None => (shape, None),
        });
        let dims: Option<Vec<u64>> = dims.split(',').map(|dim| dim.trim().parse().ok()).collect();
        match (parts, dims) {
            (Some((name, _)), Some(dims)) => Ok(Self { name: name.to_owned(), dims, dtype }),
            _ => Err("expected a name and its dimensions, as in input=1,3,224,224".to_owned()),
        }
    }
}

impl fmt::Display for GivenShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        write!(f, "{}={}", self.name, dims.join(","))?;
        self.dtype.as_ref().map_or(Ok(()), |dtype| write!(f, ":{dtype}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_and_written_alike() {
        for text in ["input=1,3,224,224", "a=b=1", "output=1,64:float32"] {
            assert_eq!(text.parse::<GivenShape>().unwrap().to_string(), text);
        }
        for text in ["", "input", "=1,2", "input=", "input=1,x", "input=-1"] {
            assert!(text.parse::<GivenShape>().unwrap_err().contains("input=1,3,224,224"), "{text}");
        }
    }
}
