//! One tensor as the file describes it.

use crate::Error;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::error::At;
use crate::flat::{Fault, Table};
use crate::schema::{element, quantization, tensor};
use serenity_ir::{ElementType, Quantization};

/// Where the value of a tensor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Computed during a run, or given by the caller.
    Activation,
    /// Part of the file.
    Constant,
    /// Kept from one run to the next.
    Variable,
}

/// One tensor of a sub-graph's own table.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTensor {
    /// Its name, for people.
    pub name: String,
    /// Dimensions to reckon with: where the model leaves one open, what the file gives for it (mostly 1).
    pub shape: Vec<u64>,
    /// Dimensions as the model's author gave them, if some are left open (-1).
    pub shape_signature: Option<Vec<i32>>,
    /// The element type.
    pub dtype: ElementType,
    /// Packed size. Strings and variants, whose size is not known before the run, count as 0.
    pub bytes: u64,
    /// The buffer that holds its value if it is a constant; 0 is the empty one.
    pub buffer: usize,
    /// Where its value comes from.
    pub storage: Storage,
    /// What the stored integers stand for, if it is quantised.
    pub quantization: Option<Quantization>,
    /// Is this all there is to say of it? Not so if it is stored sparsely, lies in another file, or is quantised in a
    /// way of its own: then no part of it can be described.
    pub is_plain: bool,
    pub(crate) type_code: i8,
    pub(crate) position: usize,
}

impl FileTensor {
    pub(crate) fn read(
        table: &Table,
        buffers: &Buffers,
        bytes: &[u8],
        budget: &mut Budget,
        place: &dyn Fn() -> String,
    ) -> Result<Self, Error> {
        let raw = Raw::read(table).at(place)?;
        budget.take(256 + raw.heap_size(), place)?;
        let name = String::from_utf8_lossy(raw.name).into_owned();
        let invalid = |problem| Error::Invalid { place: format!("{} (`{name}`)", place()), problem };
        let shape = raw.shape.iter().map(|&dim| u64::try_from(dim)).collect::<Result<Vec<u64>, _>>();
        let shape = shape.map_err(|_| {
            let shape = &raw.shape;
            invalid(format!(
                "the shape {shape:?} has a negative dimension; convert the model with fixed shapes"
            ))
        })?;
        let dtype = element::element_type(raw.type_code);
        let size = element::bytes_of(raw.type_code, &shape).ok_or_else(|| {
            let known = element::name(raw.type_code).is_some();
            invalid(if known {
                format!("the shape {shape:?} of {dtype} has more bytes than can be counted")
            } else {
                format!("element type {} is newer than this program", raw.type_code)
            })
        })?;
        let buffer = raw.buffer as usize;
        if buffer >= buffers.len().max(1) {
            let (what, index, count) = ("buffer", i64::from(raw.buffer), buffers.len());
            return Err(Error::Reference { place: place(), what, index, count });
        }
        let has_data = !buffers.get(bytes, buffer).is_empty();
        if has_data && buffer == 0 {
            return Err(invalid("it uses buffer 0, which must be empty but is not".to_owned()));
        }
        let storage = match (raw.is_variable, has_data || raw.external_buffer != 0) {
            (true, _) => Storage::Variable,
            (false, true) => Storage::Constant,
            (false, false) => Storage::Activation,
        };
        let quantization = raw.quantization;
        Ok(Self {
            shape,
            shape_signature: Some(raw.signature).filter(|dims| dims.iter().any(|&dim| dim < 0)),
            dtype,
            bytes: size,
            buffer,
            storage,
            quantization: Some(quantization).filter(|q| !q.scales.is_empty() || !q.zero_points.is_empty()),
            is_plain: raw.is_plain && raw.external_buffer == 0,
            type_code: raw.type_code,
            position: table.position(),
            name,
        })
    }

    /// Is its size left to the run, whatever its shape?
    pub(crate) fn has_no_size(&self) -> bool {
        [element::STRING, element::VARIANT].contains(&self.type_code)
    }

    /// Does it hold a handle to state, or anything else that is no plain value?
    pub(crate) fn is_handle(&self) -> bool {
        [element::RESOURCE, element::VARIANT].contains(&self.type_code)
    }
}

/// The fields, before they are understood.
struct Raw<'a> {
    name: &'a [u8],
    shape: Vec<i32>,
    signature: Vec<i32>,
    type_code: i8,
    buffer: u32,
    external_buffer: u32,
    is_variable: bool,
    is_plain: bool,
    quantization: Quantization,
}

impl<'a> Raw<'a> {
    fn read(table: &Table<'a>) -> Result<Self, Fault> {
        let quantization = table.table(tensor::QUANTIZATION)?;
        let details = quantization.map(|table| table.field(quantization::DETAILS, 4)).transpose()?.flatten();
        let more = [table.field(tensor::SPARSITY, 4)?, table.field(tensor::VARIANTS, 4)?, details];
        Ok(Self {
            name: table.text(tensor::NAME)?,
            shape: table.numbers(tensor::SHAPE)?.collect(),
            signature: table.numbers(tensor::SHAPE_SIGNATURE)?.collect(),
            type_code: table.number(tensor::TYPE, 0)?,
            buffer: table.number(tensor::BUFFER, 0)?,
            external_buffer: table.number(tensor::EXTERNAL_BUFFER, 0)?,
            is_variable: table.number(tensor::IS_VARIABLE, false)?,
            is_plain: more.iter().all(Option::is_none),
            quantization: match quantization {
                Some(table) => read_quantization(&table)?,
                None => Quantization::default(),
            },
        })
    }

    fn heap_size(&self) -> usize {
        let quantization = 4 * self.quantization.scales.len() + 8 * self.quantization.zero_points.len();
        2 * self.name.len() + 16 * self.shape.len() + 4 * self.signature.len() + quantization
    }
}

fn read_quantization(table: &Table) -> Result<Quantization, Fault> {
    let axis: i32 = table.number(quantization::QUANTIZED_DIMENSION, 0)?;
    Ok(Quantization {
        scales: table.numbers(quantization::SCALE)?.collect(),
        zero_points: table.numbers(quantization::ZERO_POINT)?.collect(),
        // A negative axis is written only where there is one scale, and then it means nothing.
        axis: u32::try_from(axis).unwrap_or(0),
    })
}
