//! The parts a new root is made of: new tables, and the fields of old ones that are carried over.

use crate::flat::{Fault, Table};
use crate::operator::OperatorCode;
use crate::schema::{builtin, element, operator, operator_code, quantization, sub_graph, tensor};
use crate::write::edit::{NewTensor, OptionValue, SubGraphEdit};
use crate::write::node::{Field, Fields, Node};
use crate::write::sub_graphs::added_tensor_node;
use crate::{Error, Model};

/// The first field behind the last one we know, if there is any: it may be a number or a distance, and only a distance
/// would change.
pub(crate) fn unknown_field(table: &Table, last_known: usize) -> Result<Option<usize>, Fault> {
    for slot in last_known + 1..table.slot_count() {
        if table.field(slot, 1)?.is_some() {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

pub(crate) fn refusal(what: &str, field: usize) -> Error {
    Error::Edit(format!(
        "{what} has a field {field} that is newer than this program, so it cannot be carried over"
    ))
}

/// A vector of tables with more behind; the old one itself if there are none.
pub(crate) fn extended(old: &Table, slot: usize, more: Vec<Node>) -> Result<Option<(usize, Field)>, Fault> {
    if more.is_empty() {
        return Ok(old.target(slot)?.map(|target| (slot, Field::Node(Node::Old(target)))));
    }
    let mut nodes = Vec::new();
    for table in old.tables(slot)?.iter() {
        nodes.push(Node::Old(table?.position()));
    }
    nodes.extend(more);
    Ok(Some((slot, Field::Node(Node::Vector(nodes)))))
}

pub(crate) fn tensors(
    model: &Model,
    old: &Table,
    edit: &SubGraphEdit,
) -> Result<Option<(usize, Field)>, Fault> {
    if !edit.changes_tensors() {
        return Ok(old.target(sub_graph::TENSORS)?.map(|t| (sub_graph::TENSORS, Field::Node(Node::Old(t)))));
    }
    let mut nodes = Vec::new();
    for (number, table) in old.tables(sub_graph::TENSORS)?.iter().enumerate() {
        nodes.push(match edit.replaced_tensors.get(&number) {
            Some(new) => {
                let old = table?;
                // A name that stays needs no copy.
                let name =
                    old.target(tensor::NAME)?.filter(|_| old.text(tensor::NAME) == Ok(new.name.as_bytes()));
                tensor_node(new, name.map(Node::Old))
            }
            None => Node::Old(table?.position()),
        });
    }
    nodes.extend(edit.new_tensors.iter().map(|tensor| added_tensor_node(model, tensor)));
    Ok(Some((sub_graph::TENSORS, Field::Node(Node::Vector(nodes)))))
}

pub(crate) fn tensor_node(new: &NewTensor, name: Option<Node>) -> Node {
    // Checked when the tensor was added: the type is known, the dimensions fit.
    let shape = new.shape.iter().map(|&dim| dim as i32);
    let mut fields = vec![
        (tensor::SHAPE, Field::Node(Node::i32s(shape))),
        (tensor::TYPE, Field::I8(element::code(&new.dtype).unwrap_or(0))),
        (tensor::BUFFER, Field::U32(new.buffer as u32)),
        (tensor::NAME, Field::Node(name.unwrap_or_else(|| Node::Text(new.name.clone())))),
    ];
    if let Some(signature) = &new.shape_signature {
        fields.push((tensor::SHAPE_SIGNATURE, Field::Node(Node::i32s(signature.iter().copied()))));
    }
    if let Some(given) = &new.quantization {
        let parameters = vec![
            (quantization::SCALE, Field::Node(Node::f32s(&given.scales))),
            (quantization::ZERO_POINT, Field::Node(Node::i64s(&given.zero_points))),
            (quantization::QUANTIZED_DIMENSION, Field::I32(given.axis as i32)),
        ];
        fields.push((tensor::QUANTIZATION, Field::Node(Node::Table(parameters))));
    }
    Node::Table(fields)
}

/// Old readers look at the field of one byte only, which holds 127 for numbers that do not fit.
pub(crate) fn code_node(code: &OperatorCode) -> Node {
    let deprecated = i8::try_from(code.builtin).unwrap_or(builtin::PLACEHOLDER);
    Node::Table(vec![
        (operator_code::DEPRECATED_BUILTIN, Field::I8(deprecated)),
        (operator_code::VERSION, Field::I32(code.version)),
        (operator_code::BUILTIN, Field::I32(code.builtin)),
    ])
}

pub(crate) fn option_field(value: &OptionValue) -> Field {
    match value {
        OptionValue::Byte(value) => Field::I8(*value),
        OptionValue::Int(value) => Field::I32(*value),
        OptionValue::Ints(values) => Field::Node(Node::i32s(values.iter().copied())),
    }
}

/// The options of an operator, whichever kind they are.
pub(crate) fn kept_options(old: &Table) -> Result<Fields, Fault> {
    let mut fields = Vec::new();
    for slot in [operator::OPTIONS_TYPE, operator::OPTIONS_2_TYPE, operator::CUSTOM_OPTIONS_FORMAT] {
        if old.field(slot, 1)?.is_some() {
            fields.push((slot, Field::U8(old.number(slot, 0)?)));
        }
    }
    for slot in [operator::OPTIONS, operator::OPTIONS_2, operator::CUSTOM_OPTIONS] {
        fields.extend(old.target(slot)?.map(|target| (slot, Field::Node(Node::Old(target)))));
    }
    if old.field(operator::LARGE_CUSTOM_OPTIONS_OFFSET, 8)?.is_some() {
        let offset: u64 = old.number(operator::LARGE_CUSTOM_OPTIONS_OFFSET, 0)?;
        let field = if offset > 1 { Field::FileOffset(offset) } else { Field::U64(offset) };
        fields.push((operator::LARGE_CUSTOM_OPTIONS_OFFSET, field));
        let size: u64 = old.number(operator::LARGE_CUSTOM_OPTIONS_SIZE, 0)?;
        fields.push((operator::LARGE_CUSTOM_OPTIONS_SIZE, Field::U64(size)));
    }
    Ok(fields)
}

/// Everything of an operator but what it reads and writes.
pub(crate) fn kept_operator_fields(old: &Table, inputs: usize) -> Result<Fields, Fault> {
    let mut fields = kept_options(old)?;
    fields.push((operator::OPCODE_INDEX, Field::U32(old.number(operator::OPCODE_INDEX, 0)?)));
    fields.extend(
        old.target(operator::INTERMEDIATES)?
            .map(|target| (operator::INTERMEDIATES, Field::Node(Node::Old(target)))),
    );
    // One mark for each input: with another number of inputs it would be wrong, and the runtimes do without it.
    if old.numbers::<bool>(operator::MUTATING_VARIABLE_INPUTS)?.len() == inputs {
        fields.extend(
            old.target(operator::MUTATING_VARIABLE_INPUTS)?
                .map(|target| (operator::MUTATING_VARIABLE_INPUTS, Field::Node(Node::Old(target)))),
        );
    }
    if old.field(operator::DEBUG_METADATA_INDEX, 4)?.is_some() {
        let number = old.number(operator::DEBUG_METADATA_INDEX, -1)?;
        fields.push((operator::DEBUG_METADATA_INDEX, Field::I32(number)));
    }
    Ok(fields)
}
