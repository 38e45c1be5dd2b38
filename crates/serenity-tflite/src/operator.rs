//! One operator as the file describes it.

use crate::Error;
use crate::budget::Budget;
use crate::error::At;
use crate::flat::{Fault, Table};
use crate::schema::{builtin, model, operator, operator_code};
use std::ops::Range;

/// What an operator code of the file's list stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OperatorCode {
    /// `CONV_2D`, `CUSTOM:SignalRfft`, or `BUILTIN_<number>` if it is newer than our list.
    pub(crate) kind: String,
    pub(crate) builtin: i32,
    /// The version of the kernel it needs.
    pub(crate) version: i32,
}

impl OperatorCode {
    /// The file's list of operator codes.
    pub(crate) fn read_all(root: &Table, budget: &mut Budget) -> Result<Vec<Self>, Error> {
        let tables = root.tables(model::OPERATOR_CODES).at(|| "operator codes".to_owned())?;
        let mut codes = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let place = || format!("operator code {index}");
            let table = table.at(place)?;
            let custom = table.text(operator_code::CUSTOM).at(place)?;
            budget.take(64 + custom.len(), place)?;
            // The first field is one byte; numbers from 127 on are in the second, and the larger one counts.
            let deprecated: i8 = table.number(operator_code::DEPRECATED_BUILTIN, 0).at(place)?;
            let builtin: i32 = table.number(operator_code::BUILTIN, 0).at(place)?;
            let builtin = builtin.max(i32::from(deprecated));
            let kind = match builtin {
                builtin::CUSTOM => format!("CUSTOM:{}", String::from_utf8_lossy(custom)),
                other => builtin::name(other),
            };
            let version = table.number(operator_code::VERSION, 1).at(place)?;
            codes.push(Self { kind, builtin, version });
        }
        Ok(codes)
    }
}

/// One operator of a sub-graph's own table.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOperator {
    /// `CONV_2D`, `CUSTOM:SignalRfft`, or `BUILTIN_<number>` if it is newer than our list.
    pub kind: String,
    /// Tensors it reads, by number in the sub-graph's table; `None` for an optional operand that is absent.
    pub inputs: Vec<Option<usize>>,
    /// Tensors it writes.
    pub outputs: Vec<Option<usize>>,
    /// Sub-graphs it runs.
    pub bodies: Vec<usize>,
    pub(crate) builtin: i32,
    pub(crate) code: usize,
    pub(crate) position: usize,
    /// The bytes of its custom options.
    pub(crate) custom_options: Range<usize>,
}

impl FileOperator {
    pub(crate) fn read(
        table: &Table,
        codes: &[OperatorCode],
        tensors: usize,
        file_length: usize,
        budget: &mut Budget,
        place: &dyn Fn() -> String,
    ) -> Result<Self, Error> {
        let code: u32 = table.number(operator::OPCODE_INDEX, 0).at(place)?;
        let known = codes.get(code as usize).ok_or_else(|| Error::Reference {
            place: place(),
            what: "operator code",
            index: i64::from(code),
            count: codes.len(),
        })?;
        let mut operands = |slot, what: &str| {
            let place = || format!("{}, {what}", place());
            let list = table.numbers::<i32>(slot).at(place)?;
            budget.take(32 * list.len(), place)?;
            list.map(|index| tensor_or_absent(index, tensors, place)).collect::<Result<Vec<_>, _>>()
        };
        let (inputs, outputs) =
            (operands(operator::INPUTS, "inputs")?, operands(operator::OUTPUTS, "outputs")?);
        budget.take(512 + 2 * known.kind.len(), place)?;
        Ok(Self {
            kind: known.kind.clone(),
            inputs,
            outputs,
            bodies: Vec::new(),
            builtin: known.builtin,
            code: code as usize,
            position: table.position(),
            custom_options: custom_options(table, file_length, place)?,
        })
    }

    /// The table of its options with the number of its type in the union it belongs to.
    pub(crate) fn options<'a>(&self, bytes: &'a [u8]) -> Result<Options<'a>, Fault> {
        let table = Table::at(bytes, self.position)?;
        let first: u8 = table.number(operator::OPTIONS_TYPE, 0)?;
        let second: u8 = table.number(operator::OPTIONS_2_TYPE, 0)?;
        Ok(match (first, second) {
            (0, 0) => Options::None,
            (0, kind) => {
                table.table(operator::OPTIONS_2)?.map_or(Options::None, |t| Options::Second(kind, t))
            }
            (kind, _) => table.table(operator::OPTIONS)?.map_or(Options::None, |t| Options::First(kind, t)),
        })
    }

    /// The operands that are there.
    pub(crate) fn present_inputs(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.inputs.iter().filter_map(|&operand| operand)
    }

    /// The results that are there.
    pub(crate) fn present_outputs(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.outputs.iter().filter_map(|&operand| operand)
    }
}

/// The options of a built-in operator: the number of their type, and the table. The first union was full, so there is a second.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Options<'a> {
    None,
    First(u8, Table<'a>),
    Second(u8, Table<'a>),
}

/// A tensor's number, checked; -1 stands for none.
pub(crate) fn tensor_or_absent(
    index: i32,
    tensors: usize,
    place: impl Fn() -> String,
) -> Result<Option<usize>, Error> {
    if index == -1 {
        return Ok(None);
    }
    match usize::try_from(index) {
        Ok(number) if number < tensors => Ok(Some(number)),
        _ => {
            let (what, index, count) = ("tensor", i64::from(index), tensors);
            Err(Error::Reference { place: place(), what, index, count })
        }
    }
}

fn custom_options(
    table: &Table,
    file_length: usize,
    place: &dyn Fn() -> String,
) -> Result<Range<usize>, Error> {
    let (start, inline) = table.blob(operator::CUSTOM_OPTIONS).at(place)?;
    let offset: u64 = table.number(operator::LARGE_CUSTOM_OPTIONS_OFFSET, 0).at(place)?;
    let size: u64 = table.number(operator::LARGE_CUSTOM_OPTIONS_SIZE, 0).at(place)?;
    if !inline.is_empty() || offset <= 1 {
        return Ok(start..start + inline.len());
    }
    let end = offset.checked_add(size).filter(|&end| end <= file_length as u64);
    let end = end.ok_or_else(|| Error::Invalid {
        place: place(),
        problem: format!(
            "its {size} bytes of options at byte {offset} do not lie within the file's {file_length} bytes"
        ),
    })?;
    Ok(offset as usize..end as usize)
}
