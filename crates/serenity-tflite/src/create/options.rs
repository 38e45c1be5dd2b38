//! The option tables of the operators, from the attributes of the graph.

use super::CreateError;
use super::builtin::{self, Builtin};
use super::field;
use flatbuffers::{FlatBufferBuilder, Push, TableFinishedWIPOffset, WIPOffset};
use serde_json::Value;
use serenity_ir::Op;

/// Writes the option table of `op`; `None` if its kind has none.
pub(super) fn write(
    file: &mut FlatBufferBuilder,
    op: &Op,
    kind: &Builtin,
) -> Result<Option<WIPOffset<TableFinishedWIPOffset>>, CreateError> {
    if kind.options == 0 {
        return Ok(None);
    }
    let read = Reader(op);
    let mut table = Table::default();
    match kind.name {
        "CONV_2D" => {
            table.window(&read, [0, 1, 2])?.activation(&read, 3)?.pair(read.pair("dilation")?, [4, 5]);
        }
        "DEPTHWISE_CONV_2D" => {
            table.window(&read, [0, 1, 2])?.int(3, read.int("multiplier")?);
            table.activation(&read, 4)?.pair(read.pair("dilation")?, [5, 6]);
        }
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" => {
            table.window(&read, [0, 1, 2])?.pair(read.pair("kernel")?, [3, 4]).activation(&read, 5)?;
        }
        "CONCATENATION" => {
            table.int(0, read.int("axis")?).activation(&read, 1)?;
        }
        "ADD" | "SUB" | "MUL" | "FULLY_CONNECTED" => {
            table.activation(&read, 0)?;
        }
        "SOFTMAX" => {
            table.fields.push((0, Scalar::Float(read.float("beta")?)));
        }
        "MEAN" => {
            table.fields.push((0, Scalar::Bool(read.bool("keep_dims")?)));
        }
        "LEAKY_RELU" => {
            table.fields.push((0, Scalar::Float(read.float("alpha")?)));
        }
        "RESIZE_BILINEAR" => table.mapping(&read, [2, 3])?,
        "RESIZE_NEAREST_NEIGHBOR" => table.mapping(&read, [0, 1])?,
        // Everything about the rest is in constant operands.
        _ => {}
    }
    Ok(Some(table.finish(file)))
}

/// A value of a field that is stored in the table itself.
#[derive(Clone, Copy)]
enum Scalar {
    Byte(i8),
    Int(i32),
    Float(f32),
    Bool(bool),
}

/// An option table: field numbers and values. Every value is written, also where it is the default.
#[derive(Default)]
struct Table {
    fields: Vec<(u16, Scalar)>,
}

impl Table {
    fn int(&mut self, number: u16, value: i32) -> &mut Self {
        self.fields.push((number, Scalar::Int(value)));
        self
    }

    /// The schema has the width first.
    fn pair(&mut self, [height, width]: [i32; 2], [width_field, height_field]: [u16; 2]) -> &mut Self {
        self.int(width_field, width).int(height_field, height)
    }

    /// Padding, then the stride along width and height.
    fn window(
        &mut self,
        read: &Reader,
        [padding, width, height]: [u16; 3],
    ) -> Result<&mut Self, CreateError> {
        self.fields.push((padding, Scalar::Byte(read.named("padding", builtin::padding)?)));
        Ok(self.pair(read.pair("stride")?, [width, height]))
    }

    fn activation(&mut self, read: &Reader, number: u16) -> Result<&mut Self, CreateError> {
        self.fields.push((number, Scalar::Byte(read.named("activation", builtin::activation)?)));
        Ok(self)
    }

    /// How a resized image lies over the old one.
    fn mapping(&mut self, read: &Reader, [align, half_pixel]: [u16; 2]) -> Result<(), CreateError> {
        self.fields.push((align, Scalar::Bool(read.bool("align_corners")?)));
        self.fields.push((half_pixel, Scalar::Bool(read.bool("half_pixel_centers")?)));
        Ok(())
    }

    fn finish(self, file: &mut FlatBufferBuilder) -> WIPOffset<TableFinishedWIPOffset> {
        fn set<T: Push>(file: &mut FlatBufferBuilder, number: u16, value: T) {
            file.push_slot_always(field(number.into()), value);
        }
        let start = file.start_table();
        for (number, value) in self.fields {
            match value {
                Scalar::Byte(value) => set(file, number, value),
                Scalar::Int(value) => set(file, number, value),
                Scalar::Float(value) => set(file, number, value),
                Scalar::Bool(value) => set(file, number, value),
            }
        }
        file.end_table(start)
    }
}

/// The attributes of an op, each in the form that the format wants.
struct Reader<'a>(&'a Op);

impl Reader<'_> {
    fn get<T>(
        &self,
        attribute: &'static str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CreateError> {
        self.0
            .attributes
            .get(attribute)
            .and_then(convert)
            .ok_or_else(|| CreateError::Attribute { op: self.0.name.clone(), attribute })
    }

    fn int(&self, attribute: &'static str) -> Result<i32, CreateError> {
        self.get(attribute, |value| i32::try_from(value.as_i64()?).ok())
    }

    fn float(&self, attribute: &'static str) -> Result<f32, CreateError> {
        self.get(attribute, |value| value.as_f64().map(|value| value as f32))
    }

    fn bool(&self, attribute: &'static str) -> Result<bool, CreateError> {
        self.get(attribute, Value::as_bool)
    }

    fn named(&self, attribute: &'static str, number: fn(&str) -> Option<i8>) -> Result<i8, CreateError> {
        self.get(attribute, |value| number(value.as_str()?))
    }

    /// Height and width.
    fn pair(&self, attribute: &'static str) -> Result<[i32; 2], CreateError> {
        self.get(attribute, |value| {
            let [height, width] = value.as_array()?.as_slice() else { return None };
            Some([i32::try_from(height.as_i64()?).ok()?, i32::try_from(width.as_i64()?).ok()?])
        })
    }
}
