//! What a tensor holds during a run.

use super::grid::Grid;
use serenity_ir::{Constant, ElementType, Quantization};

/// The elements of a tensor, and what they stand for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) data: Data,
    pub(crate) quantization: Option<Quantization>,
}

/// Elements of one of the types that we compute with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Float(Grid<f32>),
    /// What is declared as floats, computed more precisely.
    Double(Grid<f64>),
    Int8(Grid<i8>),
    Int32(Grid<i32>),
}

impl Value {
    pub(crate) fn of_constant(constant: &Constant) -> Self {
        let shape: Vec<usize> = constant.shape.iter().map(|&size| size as usize).collect();
        let data = Data::from_bytes(&constant.dtype, &shape, &constant.data);
        Self { data, quantization: constant.quantization.clone() }
    }

    pub(crate) fn int8(&self) -> &Grid<i8> {
        let Data::Int8(grid) = &self.data else { panic!("not 8-bit integers: {:?}", self.data) };
        grid
    }

    pub(crate) fn int32(&self) -> &Grid<i32> {
        let Data::Int32(grid) = &self.data else { panic!("not 32-bit integers: {:?}", self.data) };
        grid
    }
}

impl Data {
    pub(crate) fn from_bytes(dtype: &ElementType, shape: &[usize], bytes: &[u8]) -> Self {
        fn grid<const N: usize, T: Copy>(
            shape: &[usize],
            bytes: &[u8],
            read: impl Fn([u8; N]) -> T,
        ) -> Grid<T> {
            let (elements, rest) = bytes.as_chunks::<N>();
            assert!(rest.is_empty(), "half an element");
            Grid::new(shape, elements.iter().map(|&element| read(element)).collect())
        }
        match dtype {
            ElementType::Float32 => Self::Float(grid(shape, bytes, f32::from_le_bytes)),
            ElementType::Int8 => Self::Int8(grid(shape, bytes, i8::from_le_bytes)),
            ElementType::Int32 => Self::Int32(grid(shape, bytes, i32::from_le_bytes)),
            other => panic!("no elements of type {other}"),
        }
    }

    /// Floats as doubles; all else as it is.
    pub(crate) fn more_precisely(self) -> Self {
        match self {
            Self::Float(grid) => Self::Double(grid.map(f64::from)),
            other => other,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Float(grid) => grid.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Double(grid) => grid.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Int8(grid) => grid.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Int32(grid) => grid.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Float(grid) => &grid.shape,
            Self::Double(grid) => &grid.shape,
            Self::Int8(grid) => &grid.shape,
            Self::Int32(grid) => &grid.shape,
        }
    }
}
