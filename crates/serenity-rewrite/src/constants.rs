//! The constants of a rewritten model.

use crate::apply::permuted;
use crate::{NewConstant, Patch, PatchError, Rewriting, Settings, apply};
use serde_json::{Map, Value, json};
use serenity_ir::{
    Constant, ElementType, Graph, GraphBuilder, GraphError, Model, ModelError, Operand, Quantization,
};

/// Why a model cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstantError {
    /// The graph cannot be rewritten.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// A constant of which no part can be taken.
    #[error(
        "no part can be taken of constant `{0}`: its elements are not whole bytes, or its data do not fit its shape"
    )]
    NoPart(String),
    /// The rewritten graph and its constants are no valid model.
    #[error("the rewritten model is not valid: {0}")]
    Model(#[from] ModelError),
}

/// The elements `from..to` along `axis` of packed data; `None` if they do not fit the shape, or are smaller than a byte.
///
/// ```
/// use serenity_ir::ElementType;
/// let data = [1, 2, 3, 4, 5, 6];
/// assert_eq!(serenity_rewrite::slice(&data, &[2, 3], &ElementType::Int8, 1, 1, 3), Some(vec![2, 3, 5, 6]));
/// ```
pub fn slice(
    data: &[u8],
    shape: &[u64],
    dtype: &ElementType,
    axis: usize,
    from: u64,
    to: u64,
) -> Option<Vec<u8>> {
    let size = *shape.get(axis)?;
    let element = dtype.bytes_of(&[1]).filter(|&bytes| dtype.bytes_of(&[8]) == Some(8 * bytes))?;
    if dtype.bytes_of(shape)? != data.len() as u64 || from > to || to > size {
        return None;
    }
    let inner = usize::try_from(shape[axis + 1..].iter().product::<u64>() * element).ok()?;
    let (size, from, to) =
        (usize::try_from(size).ok()?, usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    if inner * size == 0 {
        return Some(Vec::new());
    }
    Some(
        data.chunks_exact(inner * size)
            .flat_map(|row| row[from * inner..to * inner].iter().copied())
            .collect(),
    )
}

/// What a part of a tensor stands for.
pub(crate) fn part_of_quantization(
    quantization: &Quantization,
    axis: usize,
    from: u64,
    to: u64,
) -> Quantization {
    let mut part = quantization.clone();
    if quantization.is_per_axis() && quantization.axis as usize == axis {
        let range = from as usize..to as usize;
        part.scales = part.scales.get(range.clone()).unwrap_or_default().to_vec();
        if part.zero_points.len() > 1 {
            part.zero_points = part.zero_points.get(range).unwrap_or_default().to_vec();
        }
    }
    part
}

impl NewConstant {
    /// The constant itself, made from the constant of the old op; `None` if it is left out.
    ///
    /// # Errors
    /// If the part does not fit the old constant.
    pub fn make(&self, old: &Constant, name: String) -> Result<Option<Constant>, ConstantError> {
        Ok(Some(match self {
            Self::Absent => return Ok(None),
            Self::Zeros => Constant { name, data: vec![0; old.data.len()], ..old.clone() },
            Self::Slice { axis, from, to } => {
                let data = slice(&old.data, &old.shape, &old.dtype, *axis, *from, *to);
                let mut shape = old.shape.clone();
                let data = data.ok_or_else(|| ConstantError::NoPart(old.name.clone()))?;
                shape[*axis] = to - from;
                let quantization =
                    old.quantization.as_ref().map(|old| part_of_quantization(old, *axis, *from, *to));
                Constant { name, shape, dtype: old.dtype.clone(), quantization, data }
            }
            Self::Rows(rows) => {
                let row =
                    |&row: &usize| slice(&old.data, &old.shape, &old.dtype, 0, row as u64, row as u64 + 1);
                let data: Option<Vec<Vec<u8>>> = rows.iter().map(row).collect();
                let data = data.ok_or_else(|| ConstantError::NoPart(old.name.clone()))?.concat();
                Constant { name, data, ..old.clone() }
            }
            Self::Permuted(permutation) => {
                relaid(old, permutation, name).ok_or_else(|| ConstantError::NoPart(old.name.clone()))?
            }
            Self::Dimensions(dims) => Constant {
                name,
                shape: vec![dims.len() as u64],
                data: dims.iter().flat_map(|dim| dim.to_le_bytes()).collect(),
                dtype: ElementType::Int64,
                quantization: None,
            },
        }))
    }
}

/// A constant with its dimensions permuted; `None` if its data do not fit its shape.
fn relaid(old: &Constant, permutation: &[usize], name: String) -> Option<Constant> {
    let element = old.dtype.bytes_of(&[1]).filter(|&bytes| old.dtype.bytes_of(&[8]) == Some(8 * bytes))?;
    let element = usize::try_from(element).ok()?;
    let missing = permutation.len().checked_sub(old.shape.len())?;
    if old.dtype.bytes_of(&old.shape)? != old.data.len() as u64 {
        return None;
    }
    let mut quantization = old.quantization.clone();
    if let Some(scales) = quantization.as_mut().filter(|scales| scales.is_per_axis()) {
        let axis = permutation.iter().position(|&axis| axis == scales.axis as usize + missing)?;
        scales.axis = u32::try_from(axis).ok()?;
    }
    let shape = permuted(&old.shape, &1, permutation);
    // Where the elements of the new layout lie in the old one.
    let mut starts = if old.data.is_empty() { Vec::new() } else { vec![0] };
    for (size, stride) in shape.iter().zip(permuted(&strides(&old.shape, element)?, &0, permutation)) {
        starts =
            starts.iter().flat_map(|start| (0..*size as usize).map(move |at| start + at * stride)).collect();
    }
    let data = starts.iter().flat_map(|&start| &old.data[start..start + element]).copied().collect();
    Some(Constant { name, shape, dtype: old.dtype.clone(), quantization, data })
}

/// How far apart neighbours lie along each dimension, in bytes.
fn strides(shape: &[u64], element: usize) -> Option<Vec<usize>> {
    let mut strides = vec![element; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].checked_mul(usize::try_from(shape[axis]).ok()?)?;
    }
    Some(strides)
}

/// The graph of a model, in which every op describes its constants, as graphs of files do: the rules need them.
///
/// # Errors
/// If the graph is not valid, which that of a model always is.
pub fn described(model: &Model) -> Result<Graph, GraphError> {
    let graph = model.graph();
    let mut builder = GraphBuilder::new(graph.name());
    for tensor in graph.tensors() {
        builder.tensor(tensor.clone());
    }
    for (op, operands) in graph.ops().iter().zip(model.operands()) {
        let mut op = op.clone();
        let constant = |(position, operand): (usize, &Operand)| match operand {
            Operand::Activation(_) => None,
            Operand::Constant(index) => {
                let Constant { name, shape, dtype, .. } = &model.constants()[*index];
                let described = json!({"name": name, "shape": shape, "dtype": dtype.name()});
                Some((position.to_string(), described))
            }
        };
        let constants: Map<String, Value> = operands.iter().enumerate().filter_map(constant).collect();
        if !constants.is_empty() {
            op.attributes.insert("constants".to_owned(), Value::Object(constants));
        }
        builder.push_op(op);
    }
    graph.inputs().iter().for_each(|&id| builder.mark_input(id));
    graph.outputs().iter().for_each(|&id| builder.output(id));
    builder.extra(graph.extra().clone());
    builder.build_body()
}

/// A model with all patches applied, including its weights. The patches must have been found in the [`described`]
/// graph.
///
/// # Errors
/// If the patches do not belong to this model or contradict each other, or if a constant cannot be divided.
pub fn apply_to_model(model: &Model, patches: &[Patch], settings: &Settings) -> Result<Model, ConstantError> {
    rewritten_model(model, apply(&described(model).map_err(PatchError::from)?, patches, settings)?)
}

/// A model whose [`described`] graph was rewritten, including its weights.
///
/// # Errors
/// If it is not the graph of this model, or a constant cannot be divided.
pub fn rewritten_model(model: &Model, rewriting: Rewriting) -> Result<Model, ConstantError> {
    let Rewriting { graph, origins, .. } = rewriting;
    let mut constants = model.constants().to_vec();
    let mut operands = Vec::new();
    for (op, origin) in graph.ops().iter().zip(&origins) {
        let mut activations = op.inputs.iter().copied();
        let Some(old) = origin.op else {
            operands.push(activations.map(Operand::Activation).collect());
            continue;
        };
        let mut list = Vec::new();
        let old_operands = &model.operands()[old.index()];
        if old_operands.iter().all(|operand| matches!(operand, Operand::Activation(_))) {
            operands.push(activations.map(Operand::Activation).collect());
            continue;
        }
        for (position, operand) in old_operands.iter().enumerate() {
            match (*operand, origin.constants.get(&position)) {
                (Operand::Activation(_), _) => list.extend(activations.next().map(Operand::Activation)),
                (kept, None) => list.push(kept),
                (Operand::Constant(index), Some(new)) => {
                    let old = &model.constants()[index];
                    let name = format!("{}/{}", old.name, op.name);
                    if let Some(constant) = new.make(old, name)? {
                        list.push(Operand::Constant(constants.len()));
                        constants.push(constant);
                    }
                }
            }
        }
        operands.push(list);
    }
    Ok(Model::new(graph, operands, constants)?)
}
