//! Problems and placements as comma-separated values, as `minimalloc` reads and writes them.
//!
//! The first line names the columns, in any order: `id`, `lower`, `upper` and `size`, and optionally `alignment` and
//! `offset`. A buffer is in use from `lower` up to but not including `upper`; `start` and `end` (inclusive) are
//! accepted as well. In the input, `offset` is where a buffer must lie; in the output, where it was placed.
//!
//! ```
//! use serenity_arena::{Options, Problem, csv, place};
//! let table = csv::read("id,lower,upper,size\na,0,2,30\nb,1,3,20\n")?;
//! let placement = place(&Problem::new(table.buffers.clone(), 16)?, &Options::default());
//! assert_eq!(csv::write(&table, Some(&placement.offsets)), "id,lower,upper,size,offset\na,0,2,30,0\nb,1,3,20,32\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Buffer, Step};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

/// Buffers with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The name of each buffer.
    pub ids: Vec<String>,
    /// The buffers, in the order of the lines.
    pub buffers: Vec<Buffer>,
}

/// Why a text is no table of buffers. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The text has no first line.
    #[error("the file is empty; its first line must name the columns: id,lower,upper,size")]
    Empty,
    /// There is a first line, but no buffers below it.
    #[error("there is no buffer in the table; give one per line, below the heading")]
    NoBuffers,
    /// Two buffers have the same name.
    #[error(
        "line {line}, column `id`: `{id}` is the name of the buffer in line {first} already; give each its own"
    )]
    IdTwice {
        /// The line of the second buffer.
        line: usize,
        /// The name.
        id: String,
        /// The line of the first buffer.
        first: usize,
    },
    /// A required column is missing.
    #[error("line 1: there is no column `{column}`; the first line must name at least id,lower,upper,size")]
    MissingColumn {
        /// The name of the column.
        column: &'static str,
    },
    /// A column is not known.
    #[error("line 1: unknown column `{column}`; known are id, lower, upper, size, alignment and offset")]
    UnknownColumn {
        /// The name of the column.
        column: String,
    },
    /// A column is listed twice.
    #[error("line 1: there are two columns for `{column}`; remove one")]
    ColumnTwice {
        /// The name of the column.
        column: &'static str,
    },
    /// A line has too few or too many fields.
    #[error("line {line}: {found} fields, but line 1 names {expected} columns")]
    FieldCount {
        /// The line.
        line: usize,
        /// Fields in that line.
        found: usize,
        /// The number of columns.
        expected: usize,
    },
    /// A field is not a number of the expected kind.
    #[error("line {line}, column `{column}`: `{value}` is not {expected}")]
    NotANumber {
        /// The line.
        line: usize,
        /// The column.
        column: &'static str,
        /// The text of the field.
        value: String,
        /// The kind of number that is expected.
        expected: &'static str,
    },
    /// A fixed offset is no multiple of the buffer's own alignment.
    #[error(
        "line {line}, column `offset`: {offset} is no multiple of {alignment}, the alignment in the same line; change one of them, or leave the offset empty"
    )]
    Misaligned {
        /// The line.
        line: usize,
        /// The offset.
        offset: u64,
        /// The alignment of the buffer.
        alignment: u64,
    },
    /// A lifetime without a step.
    #[error(
        "line {line}, column `upper`: the buffer ends at {upper}, not after its beginning at {lower}; it would never be in use"
    )]
    NeverInUse {
        /// The line.
        line: usize,
        /// The step at which it begins.
        lower: Step,
        /// The step at which it ends.
        upper: Step,
    },
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Lower,
    Upper,
    /// The last step, inclusive, unlike `Upper`.
    End,
    Size,
    Alignment,
    Offset,
}

impl Column {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "id" | "buffer" | "buffer_id" => Self::Id,
            "lower" | "start" | "begin" => Self::Lower,
            "upper" => Self::Upper,
            "end" => Self::End,
            "size" => Self::Size,
            "alignment" => Self::Alignment,
            "offset" => Self::Offset,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::End => "end",
            Self::Size => "size",
            Self::Alignment => "alignment",
            Self::Offset => "offset",
        }
    }
}

/// Reads a table of buffers. A control character in an id becomes `_`, as [`write()`] writes it.
///
/// # Errors
///
/// See [`CsvError`], which names line and column.
pub fn read(text: &str) -> Result<Table, CsvError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let (_, header) = lines.next().filter(|(_, header)| !header.is_empty()).ok_or(CsvError::Empty)?;
    let columns = columns(header)?;
    let mut table = Table::default();
    let mut line_of: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        if fields.len() != columns.len() {
            return Err(CsvError::FieldCount { line, found: fields.len(), expected: columns.len() });
        }
        let row = Row { line, columns: &columns, fields };
        let id = plain(row.get(Column::Id).unwrap_or_default());
        table.ids.push(id.clone().into_owned());
        if let Some(&first) = line_of.get(&id) {
            return Err(CsvError::IdTwice { line, id: id.into_owned(), first });
        }
        line_of.insert(id, line);
        table.buffers.push(row.buffer()?);
    }
    if table.buffers.is_empty() {
        return Err(CsvError::NoBuffers);
    }
    Ok(table)
}

fn columns(header: &str) -> Result<Vec<Column>, CsvError> {
    let mut columns = Vec::new();
    for name in header.split(',').map(str::trim) {
        let column =
            Column::named(name).ok_or_else(|| CsvError::UnknownColumn { column: name.to_owned() })?;
        if columns.contains(&column) {
            return Err(CsvError::ColumnTwice { column: column.name() });
        }
        columns.push(column);
    }
    if columns.contains(&Column::Upper) && columns.contains(&Column::End) {
        return Err(CsvError::ColumnTwice { column: Column::Upper.name() });
    }
    for required in [Column::Id, Column::Lower, Column::Upper, Column::Size] {
        let is_there =
            columns.contains(&required) || (required == Column::Upper && columns.contains(&Column::End));
        if !is_there {
            return Err(CsvError::MissingColumn { column: required.name() });
        }
    }
    Ok(columns)
}

const STEP: &str = "a whole number";
const BYTES: &str = "a whole number that is not negative";

/// One line below the first.
struct Row<'a> {
    line: usize,
    columns: &'a [Column],
    fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn get(&self, column: Column) -> Option<&'a str> {
        let at = self.columns.iter().position(|&other| other == column)?;
        Some(self.fields[at])
    }

    fn number<T: FromStr + Default>(
        &self,
        column: Column,
        expected: &'static str,
        is_fine: impl Fn(&T) -> bool,
    ) -> Result<T, CsvError> {
        let Some(text) = self.get(column) else { return Ok(T::default()) };
        text.parse().ok().filter(is_fine).ok_or_else(|| CsvError::NotANumber {
            line: self.line,
            column: column.name(),
            value: text.to_owned(),
            expected,
        })
    }

    fn buffer(&self) -> Result<Buffer, CsvError> {
        let lower: Step = self.number(Column::Lower, STEP, |_| true)?;
        let upper = if self.get(Column::End).is_some() {
            // The only place where a last step is meant: files of others have this column.
            self.number(Column::End, STEP, |_| true).map(|end: Step| end.saturating_add(1))?
        } else {
            self.number(Column::Upper, STEP, |_| true)?
        };
        if lower >= upper {
            return Err(CsvError::NeverInUse { line: self.line, lower, upper });
        }
        let mut buffer = Buffer::new(self.number(Column::Size, BYTES, |_| true)?, lower..upper);
        if self.get(Column::Alignment).is_some() {
            buffer.alignment =
                self.number(Column::Alignment, "a whole number above 0", |&alignment| alignment > 0)?;
        }
        if self.get(Column::Offset).is_some_and(|text| !text.is_empty()) {
            let offset: u64 = self.number(Column::Offset, BYTES, |_| true)?;
            if !offset.is_multiple_of(buffer.alignment) {
                let alignment = buffer.alignment;
                return Err(CsvError::Misaligned { line: self.line, offset, alignment });
            }
            buffer.offset = Some(offset);
        }
        Ok(buffer)
    }
}

/// Writes a table. With `offsets`, the column `offset` says where the buffers were placed; without, where they are
/// fixed, if any are.
///
/// There is a column for alignments if one differs from 1. Characters in an id that would break a line or a field
/// become `_`, and the second buffer of a name gets the suffix `#2`.
pub fn write(table: &Table, offsets: Option<&[u64]>) -> String {
    let has_alignments = table.buffers.iter().any(|buffer| buffer.alignment != 1);
    let has_offsets = offsets.is_some() || table.buffers.iter().any(|buffer| buffer.offset.is_some());
    let mut text = String::from("id,lower,upper,size");
    text.push_str(if has_alignments { ",alignment" } else { "" });
    text.push_str(if has_offsets { ",offset" } else { "" });
    text.push('\n');
    let mut taken = BTreeMap::new();
    for (index, buffer) in table.buffers.iter().enumerate() {
        let name = table.ids.get(index).map_or_else(|| Cow::Owned(index.to_string()), |id| plain(id));
        let id = claimed(&name, &mut taken);
        let offset = offsets.and_then(|offsets| offsets.get(index).copied()).or(buffer.offset);
        // Writing to a string does not fail.
        let _ = write!(text, "{id},{},{},{}", buffer.lower, buffer.upper, buffer.size);
        if has_alignments {
            let _ = write!(text, ",{}", buffer.alignment);
        }
        if has_offsets {
            text.push(',');
            text.push_str(&offset.map(|offset| offset.to_string()).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// The name, or the name with the first number that makes it a new one. For each name in use, `taken` has the number to try next.
fn claimed(name: &str, taken: &mut BTreeMap<String, u64>) -> String {
    let mut number = taken.get(name).copied().unwrap_or(1);
    loop {
        let id = if number == 1 { name.to_owned() } else { format!("{name}#{number}") };
        number += 1;
        taken.insert(name.to_owned(), number);
        if id == name || !taken.contains_key(&id) {
            taken.entry(id.clone()).or_insert(2);
            return id;
        }
    }
}

fn plain(id: &str) -> Cow<'_, str> {
    let breaks = |c: char| c == ',' || c.is_control();
    if id.contains(breaks) { Cow::Owned(id.replace(breaks, "_")) } else { Cow::Borrowed(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let table = Table {
            ids: vec!["a".into(), "b c".into()],
            buffers: vec![Buffer::new(8, -1..5).aligned(16), Buffer::new(0, 2..3).at(64)],
        };
        let text = write(&table, None);
        assert_eq!(text, "id,lower,upper,size,alignment,offset\na,-1,5,8,16,\nb c,2,3,0,1,64\n");
        assert_eq!(read(&text), Ok(table));
    }

    #[test]
    fn columns_come_in_any_order_and_under_old_names() {
        let table = read("\u{feff}size, end,buffer,start\r\n7,3,x,1\r\n\r\n").unwrap();
        assert_eq!(table, Table { ids: vec!["x".into()], buffers: vec![Buffer::new(7, 1..4)] });
    }

    #[test]
    fn names_that_would_break_a_line_are_mended() {
        let table = Table { ids: vec!["a,b\nc".into()], buffers: vec![Buffer::new(1, 0..1)] };
        assert_eq!(write(&table, Some(&[5])), "id,lower,upper,size,offset\na_b_c,0,1,1,5\n");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let table = read("id,lower,upper,size\na\u{1b}b,0,1,1\n").unwrap();
        assert_eq!(table.ids, ["a_b"]);
        assert_eq!(read(&write(&table, None)), Ok(table));
        let twice = read("id,lower,upper,size\na\u{1},0,1,1\na\u{2},0,1,1\n").unwrap_err();
        assert_eq!(twice, CsvError::IdTwice { line: 3, id: "a_".into(), first: 2 });
    }

    #[test]
    fn what_shares_a_name_is_told_apart() {
        let ids = ["x", "x", "x#2", "x"].map(String::from).to_vec();
        let table = Table { ids, buffers: vec![Buffer::new(1, 0..1); 4] };
        assert_eq!(read(&write(&table, None)).unwrap().ids, ["x", "x#2", "x#2#2", "x#3"]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("").contains("empty"));
        assert!(error("id,lower,upper,size\n\n").starts_with("there is no buffer"));
        let twice = error("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,5,6,1\n");
        assert!(twice.starts_with("line 4, column `id`: `a` is the name of the buffer in line 2"), "{twice}");
        assert!(error("id,lower,size\n").contains("no column `upper`"));
        assert!(error("id,lower,upper,size,colour\n").contains("unknown column `colour`"));
        assert!(error("id,lower,start,upper,size\n").contains("two columns for `lower`"));
        assert!(error("id,lower,upper,end,size\n").contains("two columns for `upper`"));
        assert_eq!(error("id,lower,upper,size\na,0,1\n"), "line 2: 3 fields, but line 1 names 4 columns");
        let header = "id,lower,upper,size,alignment,offset\n";
        for (row, place) in [
            ("a,x,1,1,1,0", "line 2, column `lower`: `x`"),
            ("a,0,1,-4,1,0", "line 2, column `size`: `-4`"),
            ("a,0,1,4,0,0", "line 2, column `alignment`: `0`"),
            ("a,0,1,4,1,zero", "line 2, column `offset`: `zero`"),
            ("a,3,3,4,1,0", "line 2, column `upper`: the buffer ends at 3"),
            ("a,0,-9223372036854775808,4,1,0", "line 2, column `upper`"),
        ] {
            assert!(error(&format!("{header}{row}\n")).starts_with(place), "{row}");
        }
    }
}
