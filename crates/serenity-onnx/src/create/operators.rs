//! Operators, one by one.

use super::file::File;
use super::{CreateError, layout};
use crate::compose::Attribute;
use serde_json::Value;
use serenity_ir::{Constant, ElementType, Model, Op, OpId, Operand, Padding};

/// Turns the ops of a model into the nodes of a file.
pub(super) struct Translation<'a> {
    pub(super) model: &'a Model,
    /// By tensor.
    pub(super) names: &'a [String],
    pub(super) file: &'a mut File,
}

/// The geometry of a convolution or a pool.
struct Window {
    kernel: [u64; 2],
    attributes: Vec<(&'static str, Attribute)>,
}

impl Translation<'_> {
    pub(super) fn add(&mut self, op: OpId) -> Result<(), CreateError> {
        let (id, op) = (op, self.model.graph().op(op));
        match op.kind.as_str() {
            "CONV_2D" => self.convolution(id, false),
            "DEPTHWISE_CONV_2D" => self.convolution(id, true),
            "AVERAGE_POOL_2D" => {
                let exclude = ("count_include_pad", Attribute::Int(0));
                self.pool(id, "AveragePool", Some(exclude))
            }
            "MAX_POOL_2D" => self.pool(id, "MaxPool", None),
            "FULLY_CONNECTED" => self.dense(id),
            "ADD" => self.elementwise(id, "Add"),
            "MUL" => self.elementwise(id, "Mul"),
            "CONCATENATION" => self.concatenation(id),
            "RELU" => self.plain(id, "Relu", &[]),
            "SOFTMAX" => self.softmax(id),
            "MEAN" => self.mean(id),
            "PAD" => self.pad(id),
            "STRIDED_SLICE" => self.slice(id),
            kind => Err(CreateError::Operator { op: op.name.clone(), kind: kind.to_owned() }),
        }
    }

    fn op(&self, op: OpId) -> &Op {
        self.model.graph().op(op)
    }

    fn attribute_error(&self, op: OpId, attribute: &'static str) -> CreateError {
        CreateError::Attribute { op: self.op(op).name.clone(), attribute }
    }

    fn operand_error(&self, op: OpId, operand: usize) -> CreateError {
        CreateError::Operand { op: self.op(op).name.clone(), operand }
    }

    fn attribute<T>(
        &self,
        op: OpId,
        attribute: &'static str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CreateError> {
        let value = self.op(op).attributes.get(attribute).and_then(convert);
        value.ok_or_else(|| self.attribute_error(op, attribute))
    }

    /// Height and width.
    fn pair(&self, op: OpId, attribute: &'static str) -> Result<[u64; 2], CreateError> {
        self.attribute(op, attribute, |value| {
            let [height, width] = value.as_array()?.as_slice() else { return None };
            Some([height.as_u64().filter(|&h| h > 0)?, width.as_u64().filter(|&w| w > 0)?])
        })
    }

    fn integers(&self, op: OpId, attribute: &'static str) -> Result<Vec<i64>, CreateError> {
        self.attribute(op, attribute, |value| value.as_array()?.iter().map(Value::as_i64).collect())
    }

    /// Name and shape, as it is here, of an activation that the op reads.
    fn activation(&self, op: OpId, position: usize) -> Result<(String, Vec<u64>), CreateError> {
        let operand = self.model.operands()[op.index()].get(position);
        let Some(&Operand::Activation(tensor)) = operand else {
            return Err(self.operand_error(op, position));
        };
        let shape = super::shape_of(self.model.graph().tensor(tensor))?;
        Ok((self.names[tensor.index()].clone(), shape.to_vec()))
    }

    /// A feature map that the op reads: its name, height, width and channels.
    fn feature_map(&self, op: OpId) -> Result<(String, [u64; 3]), CreateError> {
        match self.activation(op, 0)? {
            (name, shape) if shape.len() == 4 => Ok((name, [shape[1], shape[2], shape[3]])),
            _ => Err(self.operand_error(op, 0)),
        }
    }

    /// A constant of floats that the op reads.
    fn constant(&self, op: OpId, position: usize) -> Result<&Constant, CreateError> {
        match self.model.operands()[op.index()].get(position) {
            Some(&Operand::Constant(index)) => {
                let constant = &self.model.constants()[index];
                let is_float = constant.dtype == ElementType::Float32;
                is_float.then_some(constant).ok_or_else(|| self.operand_error(op, position))
            }
            _ => Err(self.operand_error(op, position)),
        }
    }

    fn output(&self, op: OpId) -> Result<&str, CreateError> {
        match self.op(op).outputs[..] {
            [output] => Ok(&self.names[output.index()]),
            _ => Err(CreateError::Operator {
                op: self.op(op).name.clone(),
                kind: self.op(op).kind.as_str().to_owned(),
            }),
        }
    }

    /// The node, and behind it one for the activation that is fused into the op.
    fn activated(
        &mut self,
        op: OpId,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> Result<(), CreateError> {
        let (name, output) = (self.op(op).name.clone(), self.output(op)?.to_owned());
        let (after, limits): (&str, &[(&str, f32)]) = match self.op(op).attributes.get("activation") {
            None => ("", &[]),
            Some(Value::String(name)) if name == "none" => ("", &[]),
            Some(Value::String(name)) if name == "relu" => ("Relu", &[]),
            Some(Value::String(name)) if name == "relu6" => ("Clip", &[("min", 0.0), ("max", 6.0)]),
            Some(_) => return Err(self.attribute_error(op, "activation")),
        };
        if after.is_empty() {
            self.file.node(op_type, &name, inputs, &output, attributes);
            return Ok(());
        }
        let linear = self.file.unique(&format!("{output}.linear"));
        self.file.node(op_type, &name, inputs, &linear, attributes);
        let mut operands = vec![linear];
        for (suffix, limit) in limits {
            operands.push(self.file.floats(&format!("{output}.{suffix}"), &[], &limit.to_le_bytes()));
        }
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        self.file.node(after, &format!("{name}.activation"), &operands, &output, &[]);
        Ok(())
    }

    /// An op on one activation without a fused one.
    fn plain(
        &mut self,
        op: OpId,
        op_type: &str,
        attributes: &[(&str, Attribute)],
    ) -> Result<(), CreateError> {
        let (x, _) = self.activation(op, 0)?;
        let (name, output) = (self.op(op).name.clone(), self.output(op)?.to_owned());
        self.file.node(op_type, &name, &[&x], &output, attributes);
        Ok(())
    }

    fn window(&self, op: OpId, [height, width]: [u64; 2], dilation: [u64; 2]) -> Result<Window, CreateError> {
        let (kernel, stride) = (self.pair(op, "kernel")?, self.pair(op, "stride")?);
        let padding = self.attribute(op, "padding", |value| Padding::named(value.as_str()?))?;
        let around = |size: u64, axis: usize| {
            if padding == Padding::Valid {
                return Some([0, 0]);
            }
            let window = serenity_ir::Window::new(kernel[axis], stride[axis], dilation[axis])?;
            let slide = window.along(i64::try_from(size).ok()?, padding)?;
            Some([slide.before, slide.after.max(0)])
        };
        let fits = around(height, 0).zip(around(width, 1));
        let (top, left) = fits.ok_or_else(|| self.attribute_error(op, "kernel"))?;
        let ints = |values: [u64; 2]| Attribute::Ints(values.map(|value| value as i64).to_vec());
        let attributes = vec![
            ("kernel_shape", ints(kernel)),
            ("strides", ints(stride)),
            ("pads", Attribute::Ints(vec![top[0], left[0], top[1], left[1]])),
        ];
        Ok(Window { kernel, attributes })
    }

    fn convolution(&mut self, op: OpId, is_depthwise: bool) -> Result<(), CreateError> {
        let (x, [height, width, channels]) = self.feature_map(op)?;
        let dilation = self.pair(op, "dilation")?;
        let Window { kernel, mut attributes } = self.window(op, [height, width], dilation)?;
        let weights = self.constant(op, 1)?;
        let [first, rows, columns, last] = weights.shape[..] else { return Err(self.operand_error(op, 1)) };
        let shape = [first, rows, columns, last];
        let (group, order) = if is_depthwise { (channels, [3, 0, 1, 2]) } else { (1, layout::NCHW) };
        let is_fitting = if is_depthwise { first == 1 && last == channels } else { last == channels };
        if !is_fitting || kernel != [rows, columns] {
            return Err(self.operand_error(op, 1));
        }
        let data = layout::transposed(&weights.data, &shape, order);
        let name = weights.name.clone();
        let weights = self.file.floats(&name, &order.map(|axis| shape[axis]), &data);
        let bias = self.bias(op)?;
        attributes.push(("dilations", Attribute::Ints(dilation.map(|d| d as i64).to_vec())));
        attributes.push(("group", Attribute::Int(group as i64)));
        self.activated(op, "Conv", &[&x, &weights, &bias], &attributes)
    }

    fn bias(&mut self, op: OpId) -> Result<String, CreateError> {
        let Constant { name, shape, data, .. } = self.constant(op, 2)?.clone();
        Ok(self.file.floats(&name, &shape, &data))
    }

    fn pool(
        &mut self,
        op: OpId,
        op_type: &str,
        more: Option<(&'static str, Attribute)>,
    ) -> Result<(), CreateError> {
        let (x, [height, width, _]) = self.feature_map(op)?;
        let Window { mut attributes, .. } = self.window(op, [height, width], [1, 1])?;
        attributes.extend(more);
        self.activated(op, op_type, &[&x], &attributes)
    }

    fn dense(&mut self, op: OpId) -> Result<(), CreateError> {
        let (x, shape) = self.activation(op, 0)?;
        let Constant { name, shape: weights, data, .. } = self.constant(op, 1)?.clone();
        if shape.len() != 2 || weights.len() != 2 || shape[1] != weights[1] {
            return Err(self.operand_error(op, 1));
        }
        let weights = self.file.floats(&name, &weights, &data);
        let bias = self.bias(op)?;
        self.activated(op, "Gemm", &[&x, &weights, &bias], &[("transB", Attribute::Int(1))])
    }

    fn elementwise(&mut self, op: OpId, op_type: &str) -> Result<(), CreateError> {
        let inputs = [self.term(op, 0)?, self.term(op, 1)?];
        self.activated(op, op_type, &inputs.each_ref().map(String::as_str), &[])
    }

    /// An activation, or one number for all of its elements: whatever is broadcast along an axis would need that axis moved.
    fn term(&mut self, op: OpId, position: usize) -> Result<String, CreateError> {
        if let Ok((name, _)) = self.activation(op, position) {
            return Ok(name);
        }
        let Constant { name, shape, data, .. } = self.constant(op, position)?.clone();
        if shape.iter().any(|&dim| dim != 1) {
            return Err(self.operand_error(op, position));
        }
        Ok(self.file.floats(&name, &shape, &data))
    }

    fn concatenation(&mut self, op: OpId) -> Result<(), CreateError> {
        let count = self.model.operands()[op.index()].len();
        let inputs: Vec<(String, Vec<u64>)> =
            (0..count).map(|position| self.activation(op, position)).collect::<Result<_, _>>()?;
        let rank = inputs.first().map_or(0, |(_, shape)| shape.len());
        let axis = self.attribute(op, "axis", |value| layout::axis(value.as_i64()?, rank))?;
        let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
        self.activated(op, "Concat", &names, &[("axis", Attribute::Int(axis))])
    }

    fn softmax(&mut self, op: OpId) -> Result<(), CreateError> {
        let rank = self.activation(op, 0)?.1.len();
        let is_plain = |value: &Value| value.as_f64().filter(|beta| (beta - 1.0).abs() < f64::EPSILON);
        self.attribute(op, "beta", is_plain)?;
        let axis = layout::axis(-1, rank).ok_or_else(|| self.operand_error(op, 0))?;
        self.plain(op, "Softmax", &[("axis", Attribute::Int(axis))])
    }

    fn mean(&mut self, op: OpId) -> Result<(), CreateError> {
        let rank = self.activation(op, 0)?.1.len();
        let keeps = self.attribute(op, "keep_dims", Value::as_bool)?;
        let axes = self.integers(op, "axis")?;
        let mut axes: Vec<i64> = axes
            .into_iter()
            .map(|axis| layout::axis(axis, rank))
            .collect::<Option<_>>()
            .ok_or_else(|| self.attribute_error(op, "axis"))?;
        axes.sort_unstable();
        // What is left of a feature map has lost its height and its width, or keeps all its axes: then the order of the
        // rest is the same.
        if rank == 4 && !keeps && axes != [2, 3] {
            return Err(self.attribute_error(op, "axis"));
        }
        let keep = ("keepdims", Attribute::Int(i64::from(keeps)));
        self.plain(op, "ReduceMean", &[("axes", Attribute::Ints(axes)), keep])
    }

    fn pad(&mut self, op: OpId) -> Result<(), CreateError> {
        let (x, shape) = self.activation(op, 0)?;
        let pairs: Vec<[i64; 2]> = self.attribute(op, "paddings", |value| {
            let row = |row: &Value| match row.as_array()?.as_slice() {
                [before, after] => Some([before.as_i64()?, after.as_i64()?]),
                _ => None,
            };
            let rows: Option<Vec<[i64; 2]>> = value.as_array()?.iter().map(row).collect();
            rows.filter(|rows| rows.len() == shape.len())
        })?;
        let pairs = layout::by_axis(&pairs);
        let pads: Vec<i64> =
            [0, 1].iter().flat_map(|&side| pairs.iter().map(move |pair| pair[side])).collect();
        let (name, output) = (self.op(op).name.clone(), self.output(op)?.to_owned());
        let pads = self.file.integers(&format!("{name}.pads"), &pads);
        self.file.node("Pad", &name, &[&x, &pads], &output, &[]);
        Ok(())
    }

    fn slice(&mut self, op: OpId) -> Result<(), CreateError> {
        let (x, shape) = self.activation(op, 0)?;
        let (name, output) = (self.op(op).name.clone(), self.output(op)?.to_owned());
        for mask in ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"] {
            if self.op(op).attributes.get(mask).is_some_and(|value| value.as_i64() != Some(0)) {
                return Err(self.attribute_error(op, mask));
            }
        }
        let mut inputs = vec![x];
        for attribute in ["begin", "end", "strides"] {
            let values = self.integers(op, attribute)?;
            if values.len() != shape.len() {
                return Err(self.attribute_error(op, attribute));
            }
            inputs.push(self.file.integers(&format!("{name}.{attribute}"), &layout::by_axis(&values)));
            if attribute == "end" {
                let axes: Vec<i64> = (0..shape.len() as i64).collect();
                inputs.push(self.file.integers(&format!("{name}.axes"), &axes));
            }
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.file.node("Slice", &name, &inputs, &output, &[]);
        Ok(())
    }
}
