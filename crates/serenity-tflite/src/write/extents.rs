//! Which bytes of a file something in it refers to.
//!
//! Parts of a flatbuffer may lie anywhere, and on top of each other. Before bytes get another use, every part of the file is visited,
//! and it must be known of every field whether it points at something. If that is not known of a single one, nothing is.

use crate::Model;
use crate::attributes::options::{self, Read};
use crate::flat::{Fault, Table};
use crate::operator::Options;
use crate::schema::{buffer, model as slot, operator, sub_graph};
use crate::write::ranges::Ranges;
use std::ops::Range;

/// What a field is.
#[derive(Clone, Copy)]
enum Part {
    Number,
    /// A vector of numbers of so many bytes each.
    Numbers(usize),
    Text,
    Table(&'static [Part]),
    Tables(&'static [Part]),
    /// Seen to elsewhere.
    Apart,
    /// Too rare to be followed.
    Unknown,
}
use Part::{Apart, Number, Numbers, Tables, Text, Unknown};

/// The fields of each table by number.
const MODEL: &[Part] = &[
    Number,
    Tables(OPERATOR_CODE),
    Tables(SUB_GRAPH),
    Text,
    Apart,
    Numbers(4),
    Tables(METADATA),
    Tables(SIGNATURE),
    Unknown,
    Unknown,
];
const OPERATOR_CODE: &[Part] = &[Number, Text, Number, Number];
const SUB_GRAPH: &[Part] = &[Tables(TENSOR), Numbers(4), Numbers(4), Apart, Text, Number];
const TENSOR: &[Part] = &[
    Numbers(4),
    Number,
    Number,
    Text,
    Part::Table(QUANTIZATION),
    Number,
    Unknown,
    Numbers(4),
    Number,
    Unknown,
    Number,
];
const QUANTIZATION: &[Part] = &[Numbers(4), Numbers(4), Numbers(4), Numbers(8), Number, Unknown, Number];
const OPERATOR: &[Part] = &[
    Number,
    Numbers(4),
    Numbers(4),
    Number,
    Apart,
    Numbers(1),
    Number,
    Numbers(1),
    Numbers(4),
    Number,
    Number,
    Number,
    Apart,
    Number,
];
const METADATA: &[Part] = &[Text, Number];
const SIGNATURE: &[Part] = &[Tables(TENSOR_MAP), Tables(TENSOR_MAP), Text, Unknown, Number];
const TENSOR_MAP: &[Part] = &[Text, Number];
const BUFFER: &[Part] = &[Apart, Number, Number];

/// Types of the union `BuiltinOptions` that hold numbers only and say nothing that becomes an attribute: hashes, calls, skip-grams, `UNIQUE`,
/// `IF`, `WHILE` and `CALL_ONCE`.
const NUMBERS_ONLY: &[u8] = &[4, 16, 18, 80, 92, 93, 103];

/// The distance to the root, and the identifier.
const HEADER: Range<usize> = 0..8;

/// The bytes of all parts of a model but the data of some buffers; `None` if not all of its parts are understood.
pub(crate) fn extents(model: &Model, leaves_out: &dyn Fn(usize) -> bool) -> Result<Option<Ranges>, Fault> {
    // Parts take up bytes. A file with more parts than bytes is made to keep us busy.
    let mut walk = Walk { ranges: Vec::new(), limit: model.bytes.len() };
    walk.ranges.push(HEADER);
    let is_understood = walk.model(model, leaves_out)?;
    Ok(is_understood.then(|| walk.ranges.into_iter().collect()))
}

struct Walk {
    ranges: Vec<Range<usize>>,
    limit: usize,
}

/// Each step tells whether it has understood what it saw.
impl Walk {
    fn model(&mut self, model: &Model, leaves_out: &dyn Fn(usize) -> bool) -> Result<bool, Fault> {
        let root = Table::root(&model.bytes)?;
        if !self.table(&root, MODEL)? {
            return Ok(false);
        }
        self.ranges.extend(root.vector_extent(slot::BUFFERS, 4)?);
        for (index, table) in root.tables(slot::BUFFERS)?.iter().enumerate() {
            let table = table?;
            if !self.table(&table, BUFFER)? {
                return Ok(false);
            }
            if !leaves_out(index) {
                self.ranges.extend(table.vector_extent(buffer::DATA, 1)?);
                self.ranges.push(model.buffers.place(index));
            }
        }
        for table in root.tables(slot::SUB_GRAPHS)?.iter() {
            self.ranges.extend(table?.vector_extent(sub_graph::OPERATORS, 4)?);
        }
        for operator in model.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.operators) {
            self.ranges.push(operator.custom_options.clone());
            let table = Table::at(&model.bytes, operator.position)?;
            if !self.table(&table, OPERATOR)? || !self.options(&table, operator.options(&model.bytes)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn table(&mut self, table: &Table, parts: &[Part]) -> Result<bool, Fault> {
        self.ranges.extend(table.extents());
        for slot in 0..table.slot_count() {
            if table.field(slot, 1)?.is_none() {
                continue;
            }
            match parts.get(slot) {
                None | Some(Unknown) => return Ok(false),
                Some(Number | Apart) => {}
                Some(Numbers(size)) => self.ranges.extend(table.vector_extent(slot, *size)?),
                Some(Text) => self.text(table, slot)?,
                Some(Part::Table(parts)) => {
                    if let Some(inner) = table.table(slot)?
                        && !self.table(&inner, parts)?
                    {
                        return Ok(false);
                    }
                }
                Some(Tables(parts)) => {
                    self.ranges.extend(table.vector_extent(slot, 4)?);
                    for inner in table.tables(slot)?.iter() {
                        if !self.table(&inner?, parts)? {
                            return Ok(false);
                        }
                    }
                }
            }
        }
        Ok(self.ranges.len() <= self.limit)
    }

    /// A byte of zero follows.
    fn text(&mut self, table: &Table, slot: usize) -> Result<(), Fault> {
        let extent = table.vector_extent(slot, 1)?;
        self.ranges.extend(extent.map(|text| text.start..text.end + 1));
        Ok(())
    }

    fn options(&mut self, operator: &Table, options: Options) -> Result<bool, Fault> {
        // Only one of the two unions may be there.
        let tables = [operator::OPTIONS, operator::OPTIONS_2];
        let given = tables.map(|slot| operator.target(slot)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let (kind, table) = match options {
            Options::None => return Ok(given.iter().all(Option::is_none)),
            Options::First(kind, table) => (Some(kind), table),
            Options::Second(_, table) => (None, table),
        };
        if given.iter().flatten().count() != 1 {
            return Ok(false);
        }
        self.ranges.extend(table.extents());
        if kind.is_some_and(|kind| NUMBERS_ONLY.contains(&kind)) {
            return Ok(true);
        }
        let known = options::known(options).map_or([].as_slice(), |(_, known)| known);
        for slot in 0..table.slot_count() {
            if table.field(slot, 1)?.is_none() {
                continue;
            }
            match known.iter().find(|(_, read)| read.slots().contains(&slot)) {
                None => return Ok(false),
                Some((_, Read::Text(_))) => self.text(&table, slot)?,
                Some((_, Read::Ints(_))) => self.ranges.extend(table.vector_extent(slot, 4)?),
                Some((_, Read::Longs(_))) => self.ranges.extend(table.vector_extent(slot, 8)?),
                Some(_) => {}
            }
        }
        Ok(true)
    }
}
