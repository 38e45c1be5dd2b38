//! The options of an old operator with some of them changed.
//!
//! Options are a table of their own, which operators may share, so a changed one is written anew. What is read of a
//! type of options says which fields it has and how wide each is; a field beyond these cannot be carried.

use crate::attributes::options::{self, ACTIVATIONS, PADDINGS, Read};
use crate::budget::Budget;
use crate::flat::{Fault, Table};
use crate::operator::{FileOperator, Options};
use crate::schema::operator;
use crate::write::edit::{Edit, NewOptions, OptionValue};
use crate::write::node::{Field, Fields, Node};
use crate::write::parts::refusal;
use crate::{Error, Model};
use serde_json::Value;
use serenity_ir::Attributes;

impl Edit<'_> {
    /// The new table of options, and the field of the operator that it belongs in.
    pub(crate) fn changed_options(
        &self,
        sub_graph: usize,
        number: usize,
        changes: &Attributes,
    ) -> Result<(usize, Node), Error> {
        let place = || format!("sub-graph {sub_graph}, operator {number}");
        let operator = &self.model.sub_graphs[sub_graph].operators[number];
        let options = operator.options(&self.model.bytes)?;
        let slot = if let Options::Second(..) = options { operator::OPTIONS_2 } else { operator::OPTIONS };
        let Some((table, known)) = options::known(options) else {
            return Err(Error::Edit(format!("{}: it has no options that are known here", place())));
        };
        let mut fields = Vec::new();
        for (_, read) in known {
            fields.extend(kept(read, &table)?);
        }
        for unknown in 0..table.slot_count() {
            if table.field(unknown, 1)?.is_some() && fields.iter().all(|(slot, _)| *slot != unknown) {
                return Err(refusal(&format!("{}, its table of options", place()), unknown));
            }
        }
        for (name, value) in changes {
            let read = known.iter().find(|(known, _)| known == name).map(|(_, read)| read);
            let (slot, field) = read.and_then(|read| choice(read, value)).ok_or_else(|| {
                Error::Edit(format!("{}: its option `{name}` cannot be set to {value}", place()))
            })?;
            fields.retain(|(kept, _)| *kept != slot);
            fields.push((slot, field));
        }
        Ok((slot, Node::Table(fields)))
    }
}

/// The fields that make an attribute, as they are; those that are not there have their defaults.
fn kept(read: &Read, table: &Table) -> Result<Fields, Fault> {
    let mut fields = Vec::new();
    for &slot in read.slots() {
        if table.field(slot, 1)?.is_none() {
            continue;
        }
        let field = match read {
            Read::Padding(_)
            | Read::Activation(_)
            | Read::Word(..)
            | Read::Type(_)
            | Read::TypeIfGiven(_)
            | Read::Bool(_)
            | Read::BoolOrTrue(_) => Field::U8(table.number(slot, 0)?),
            Read::Pair(..) | Read::Triple(..) | Read::Int(_) | Read::Float(_) => {
                Field::U32(table.number(slot, 0)?)
            }
            Read::Long(_) => Field::U64(table.number(slot, 0)?),
            Read::Text(_) | Read::Ints(_) | Read::Longs(_) => match table.target(slot)? {
                Some(target) => Field::Node(Node::Old(target)),
                None => continue,
            },
        };
        fields.push((slot, field));
    }
    Ok(fields)
}

/// The field that stands for a whole number, or for one of several words.
fn choice(read: &Read, value: &Value) -> Option<(usize, Field)> {
    let (slot, words) = match read {
        Read::Int(slot) => {
            let number = i32::try_from(value.as_i64()?).ok()?;
            return Some((*slot, Field::U32(number.cast_unsigned())));
        }
        Read::Padding(slot) => (*slot, PADDINGS),
        Read::Activation(slot) => (*slot, ACTIVATIONS),
        Read::Word(slot, words) => (*slot, *words),
        _ => return None,
    };
    let number = words.iter().position(|word| value.as_str() == Some(word))?;
    Some((slot, Field::U8(u8::try_from(number).ok()?)))
}

/// Does an operator of the new file have the options of an old one but for these?
pub(crate) fn are_changed(
    (new, written): (&Model, &FileOperator),
    (old, origin): (&Model, &FileOperator),
    changes: &Attributes,
) -> bool {
    let read = |model: &Model, operator: &FileOperator| {
        let mut attributes = Attributes::new();
        let options = operator.options(&model.bytes).ok()?;
        let mut budget = Budget::for_file(model.bytes.len());
        options::describe(options, &mut attributes, &mut budget, &String::new).ok()?;
        Some(attributes)
    };
    let expected = read(old, origin).map(|mut attributes| {
        attributes.extend(changes.clone());
        attributes
    });
    expected.is_some() && read(new, written) == expected
}

/// Does a new operator have the table of options that was asked for?
pub(crate) fn are_as_given(new: &Model, operator: &FileOperator, wanted: &NewOptions) -> bool {
    let found = operator.options(&new.bytes);
    match (wanted, found) {
        (NewOptions::None, Ok(Options::None)) => true,
        (NewOptions::Table { kind, fields }, Ok(Options::First(found, table))) => {
            found == *kind && fields.iter().all(|(slot, value)| is_given(&table, *slot, value) == Ok(true))
        }
        _ => false,
    }
}

fn is_given(table: &Table, slot: usize, wanted: &OptionValue) -> Result<bool, Fault> {
    Ok(table.field(slot, 1)?.is_some()
        && match wanted {
            OptionValue::Byte(value) => table.number(slot, 0_i8)? == *value,
            OptionValue::Int(value) => table.number(slot, 0_i32)? == *value,
            OptionValue::Ints(values) => table.numbers::<i32>(slot)?.eq(values.iter().copied()),
        })
}
