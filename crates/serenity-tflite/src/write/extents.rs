//! Which bytes of a file something in it refers to.
//!
//! Parts of a flatbuffer may lie anywhere, and on top of each other. Before bytes get another use, every part of the
//! file is visited, and it must be known of every field whether it points at something. If that is not known of a
//! single one, nothing is.

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
// Older files have a method and a key where newer ones have a key alone.
const SIGNATURE: &[Part] = &[Tables(TENSOR_MAP), Tables(TENSOR_MAP), Text, Text, Number];
const TENSOR_MAP: &[Part] = &[Text, Number];
const BUFFER: &[Part] = &[Apart, Number, Number];

/// Types of the union `BuiltinOptions` that hold numbers only and say nothing that becomes an attribute: hashes, calls,
/// skip-grams, `UNIQUE`, `IF`, `WHILE` and `CALL_ONCE`.
const NUMBERS_ONLY: &[u8] = &[4, 16, 18, 80, 92, 93, 103];

/// The distance to the root, and the identifier.
const HEADER: Range<usize> = 0..8;

/// The bytes of all parts of a model but the data of some buffers; `None` if not all of its parts are understood.
pub(crate) fn extents(model: &Model, leaves_out: &dyn Fn(usize) -> bool) -> Result<Option<Ranges>, Fault> {
    Ok(Walk::through(model, leaves_out)?.map(|walk| walk.ranges.into_iter().collect()))
}

/// All parts of a model and how they refer to each other; `None` if not all of its parts are understood.
pub(crate) fn layout(model: &Model) -> Result<Option<Layout>, Fault> {
    let walk = Walk::through(model, &|_| false)?;
    Ok(walk.map(|Walk { ranges, links, vtables, .. }| Layout {
        live: ranges.into_iter().collect(),
        links,
        vtables,
    }))
}

/// Where the parts of a file are, and where each says where another is.
pub(crate) struct Layout {
    /// The bytes that something refers to.
    pub(crate) live: Ranges,
    /// Distances: where each is stored, and where it leads.
    pub(crate) links: Vec<(usize, usize)>,
    /// Tables, and their vtables.
    pub(crate) vtables: Vec<(usize, usize)>,
}

struct Walk {
    ranges: Vec<Range<usize>>,
    links: Vec<(usize, usize)>,
    vtables: Vec<(usize, usize)>,
    limit: usize,
}

impl Walk {
    fn through(model: &Model, leaves_out: &dyn Fn(usize) -> bool) -> Result<Option<Self>, Fault> {
        // Parts take up bytes. A file with more parts than bytes is made to keep us busy.
        let limit = model.bytes.len();
        let mut walk = Self { ranges: Vec::new(), links: Vec::new(), vtables: Vec::new(), limit };
        walk.ranges.push(HEADER);
        walk.links.push((HEADER.start, Table::root(&model.bytes)?.position()));
        Ok(walk.model(model, leaves_out)?.then_some(walk))
    }

    /// A field that leads somewhere.
    fn link(&mut self, table: &Table, slot: usize) -> Result<(), Fault> {
        self.links.extend(table.field(slot, 4)?.zip(table.target(slot)?));
        Ok(())
    }

    /// A vector of tables, and where each of them is.
    fn list(&mut self, table: &Table, slot: usize) -> Result<(), Fault> {
        self.link(table, slot)?;
        self.ranges.extend(table.vector_extent(slot, 4)?);
        let tables = table.tables(slot)?;
        for (index, inner) in tables.iter().enumerate() {
            self.links.push((tables.slot(index), inner?.position()));
        }
        Ok(())
    }

    /// The bytes of a vector of numbers.
    fn numbers(&mut self, table: &Table, slot: usize, size: usize) -> Result<(), Fault> {
        self.link(table, slot)?;
        self.ranges.extend(table.vector_extent(slot, size)?);
        Ok(())
    }

    /// A table by itself.
    fn own(&mut self, table: &Table) {
        let [own, vtable] = table.extents();
        self.vtables.push((own.start, vtable.start));
        self.ranges.extend([own, vtable]);
    }
}

/// Each step tells whether it has understood what it saw.
impl Walk {
    fn model(&mut self, model: &Model, leaves_out: &dyn Fn(usize) -> bool) -> Result<bool, Fault> {
        let root = Table::root(&model.bytes)?;
        if !self.table(&root, MODEL)? {
            return Ok(false);
        }
        self.list(&root, slot::BUFFERS)?;
        for (index, table) in root.tables(slot::BUFFERS)?.iter().enumerate() {
            let table = table?;
            if !self.table(&table, BUFFER)? {
                return Ok(false);
            }
            if !leaves_out(index) {
                self.numbers(&table, buffer::DATA, 1)?;
                self.ranges.push(model.buffers.place(index));
            }
        }
        for table in root.tables(slot::SUB_GRAPHS)?.iter() {
            self.list(&table?, sub_graph::OPERATORS)?;
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
        self.own(table);
        for slot in 0..table.slot_count() {
            if table.field(slot, 1)?.is_none() {
                continue;
            }
            match parts.get(slot) {
                None | Some(Unknown) => return Ok(false),
                Some(Number | Apart) => {}
                Some(Numbers(size)) => self.numbers(table, slot, *size)?,
                Some(Text) => self.text(table, slot)?,
                Some(Part::Table(parts)) => {
                    self.link(table, slot)?;
                    if let Some(inner) = table.table(slot)?
                        && !self.table(&inner, parts)?
                    {
                        return Ok(false);
                    }
                }
                Some(Tables(parts)) => {
                    self.list(table, slot)?;
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
        self.link(table, slot)?;
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
        for slot in tables {
            self.link(operator, slot)?;
        }
        self.own(&table);
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
                Some((_, Read::Ints(_))) => self.numbers(&table, slot, 4)?,
                Some((_, Read::Longs(_))) => self.numbers(&table, slot, 8)?,
                Some(_) => {}
            }
        }
        Ok(true)
    }
}
