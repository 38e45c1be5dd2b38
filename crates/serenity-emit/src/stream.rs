//! Operators that run row by row.
//!
//! Each becomes a function of the number `i` of the row that it makes. An operator that reads one row of each input is
//! lowered as on images of one row; windows take a pointer per row, because rows of a ring lie apart.

use crate::emitter::{At, Emitter, Scope};
use crate::fragments::Fragment;
use crate::lower::{Mean, Pool, float_cut, lowered, padding};
use crate::refused::Refused;
use crate::source::{DataPlace, SourceGraph, SourceStream, SourceTensor, StreamLine, StreamRule};
use serenity_ir::{ElementType, Slide};

/// Most operators of a stream, as its steps are coded.
const MOST_OPS: usize = 100;

/// What the caller pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushes {
    /// Rows of the input.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Multiplications of a push, on average, without the rest of the network.
    pub mean_macs: u64,
    /// The most multiplications of a push, without the rest of the network.
    pub most_macs: u64,
    /// Multiplications of the rest of the network, which the last push runs as well.
    pub rest_macs: u64,
    /// If windows slide over the rows.
    pub hop: Option<Hop>,
}

/// Windows that slide over what the caller pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rows from one window to the next.
    pub rows: u64,
    /// Multiplications from one window to the next, on average, with the rest of the network.
    pub macs: u64,
    /// Multiplications of a window that has nothing in common with another.
    pub window_macs: u64,
}

impl SourceStream {
    /// What the caller pushes; `None` if the input is there as a whole.
    pub(crate) fn pushes(&self) -> Option<Pushes> {
        let StreamLine { rows, row_bytes, .. } = *self.lines.first().filter(|_| self.is_pushed)?;
        let all = self.macs.iter().sum::<u64>();
        let mean_macs = all / (self.macs.len() as u64).max(1);
        let most_macs = self.macs.iter().copied().max().unwrap_or(0);
        let rest_macs = self.rest_macs;
        let hop = self.slide.as_ref().map(|slide| Hop {
            rows: slide.hop,
            macs: all / slide.phases.max(1) + rest_macs,
            window_macs: slide.window_macs,
        });
        Some(Pushes { rows, row_bytes, mean_macs, most_macs, rest_macs, hop })
    }

    /// Bytes of counters.
    pub(crate) fn state(&self) -> u64 {
        if self.slide.is_some() {
            // A round, a step, and the windows that are not full yet.
            return 4 + 2 + 2;
        }
        let lines = self.lines.len() as u64;
        let flags = if self.is_tight() { lines } else { 0 };
        2 * lines + flags + if self.is_pushed { 4 } else { 0 }
    }

    /// Does any new row lie in a buffer first?
    pub(crate) fn is_tight(&self) -> bool {
        self.lines.iter().any(|line| line.newest.is_some())
    }
}

impl Emitter<'_> {
    /// The end of the highest row of a line of the stream.
    pub(crate) fn end_of_line(&self, number: usize) -> u64 {
        let stream = self.source.stream.as_ref();
        let slide = stream.and_then(|stream| stream.slide.as_ref()).and_then(|slide| slide.lines.get(number));
        let (rings, border) =
            slide.map_or((1, (0, 0)), |slide| (slide.phases, (slide.border, slide.border_held)));
        stream.and_then(|stream| stream.lines.get(number)).map_or(u64::MAX / 2, |line| {
            let ring = line.place + line.held * line.row_bytes * rings;
            let newest = line.newest.map_or(0, |newest| newest + line.row_bytes);
            ring.max(newest).max(border.0 + border.1 * line.row_bytes)
        })
    }
}

/// The graph of a stream in which tensors are the rows that operators read and make.
pub(crate) fn row_graph(stream: &SourceStream) -> SourceGraph {
    let mut graph = stream.graph.clone();
    let whole = stream.graph.tensors.len();
    // Windows are described by whole tensors: one more of each line.
    for (line, one) in stream.lines.iter().enumerate() {
        let tensor = &stream.graph.tensors[one.tensor];
        graph.tensors.push(SourceTensor { place: DataPlace::Rows(line), ..tensor.clone() });
        let row = &mut graph.tensors[one.tensor];
        row.place = DataPlace::Row(line);
        if let [_, rows, _, _] = row.shape.as_mut_slice() {
            *rows = 1;
        }
        row.bytes = row.dtype.bytes_of(&row.shape).unwrap_or(0);
    }
    let line_of = |tensor: usize| stream.lines.iter().position(|line| line.tensor == tensor);
    for ((number, op), rule) in graph.ops.iter_mut().enumerate().zip(&stream.rules) {
        match rule {
            StreamRule::Row { .. } | StreamRule::Padded { .. } => {
                for &(position, index, number) in of_one_row(&op.kind) {
                    if let Some(operand) = op.inputs.get_mut(position).and_then(Option::as_mut) {
                        graph.tensors.push(changed(&graph.tensors[*operand], index, number));
                        *operand = graph.tensors.len() - 1;
                    }
                }
            }
            StreamRule::Window => {
                // The result is described as a whole too, but made by the row.
                let made = graph.tensors[whole + number + 1].clone();
                graph.tensors.push(SourceTensor { place: DataPlace::Row(number + 1), ..made });
                op.outputs[0] = Some(graph.tensors.len() - 1);
                for tensor in op.inputs.iter_mut().flatten() {
                    *tensor = line_of(*tensor).map_or(*tensor, |line| whole + line);
                }
            }
            StreamRule::Sum => {
                for tensor in op.inputs.iter_mut().flatten() {
                    if let Some(line) = line_of(*tensor) {
                        let one = graph.tensors[whole + line].clone();
                        graph.tensors.push(SourceTensor { place: DataPlace::Row(line), ..one });
                        *tensor = graph.tensors.len() - 1;
                    }
                }
                let made = graph.tensors[whole + number + 1].clone();
                graph.tensors.push(SourceTensor { place: DataPlace::Arena(stream.leaves), ..made });
                op.outputs[0] = Some(graph.tensors.len() - 1);
            }
        }
    }
    graph
}

/// What an operator on one row is told instead: by operand and index, a number. Rows are chosen, and rows of padding
/// made, by the stream.
fn of_one_row(kind: &str) -> &'static [(usize, usize, u8)] {
    match kind {
        "PAD" => &[(1, 2, 0), (1, 3, 0)],
        "STRIDED_SLICE" => &[(1, 1, 0), (2, 1, 1)],
        _ => &[],
    }
}

/// A constant of whole numbers with another one at an index.
fn changed(constant: &SourceTensor, index: usize, number: u8) -> SourceTensor {
    let mut changed = constant.clone();
    let item = constant.item() as usize;
    if let DataPlace::Constant(bytes) = &mut changed.place
        && let Some(place) = bytes.get_mut(index * item..(index + 1) * item)
    {
        place.fill(0);
        place[0] = number;
    }
    changed
}

/// Writes a function for each operator of the stream, and remembers how they are called.
pub(crate) fn lower<'s>(emitter: &mut Emitter<'s>, graph: &'s SourceGraph) -> Result<(), Refused> {
    let Some(stream) = &emitter.source.stream else { return Ok(()) };
    let mut scope = Scope::new(0, 2);
    for ((number, op), &rule) in graph.ops.iter().enumerate().zip(&stream.rules) {
        scope.row = match rule {
            StreamRule::Row { stride, offset, times } => row(stride, offset, times),
            StreamRule::Padded { top } => format!("i - {top}"),
            StreamRule::Window | StreamRule::Sum => "i".to_owned(),
        };
        let mut at = At { emitter, scope: &mut scope, graph, op };
        if number >= MOST_OPS || stream.lines.iter().any(|line| line.rows > u64::from(u16::MAX)) {
            return Err(at.refused("a stream of it would have too many operators or rows"));
        }
        let body = match rule {
            StreamRule::Sum => summed(&mut at, stream, number + 1)?,
            StreamRule::Padded { top } => padded(&mut at, stream, top)?,
            _ => lowered(&mut at)?.ok_or_else(|| at.refused("nothing would be left of it in a stream"))?,
        };
        let about = at.about();
        let call = at.emitter.function(&about, &body, true);
        emitter.row_calls.push(call);
    }
    Ok(())
}

fn row(stride: u64, offset: u64, times: u64) -> String {
    let scaled = if stride == 1 { "i".to_owned() } else { format!("i * {stride}") };
    let moved = if offset == 0 { scaled } else { format!("{scaled} + {offset}") };
    if times == 1 { moved } else { format!("({moved}) / {times}") }
}

/// A row with columns around it, or a row of padding.
fn padded(at: &mut At, stream: &SourceStream, top: u64) -> Result<String, Refused> {
    let padding = padding(at, at.output(0)?)?;
    let &[byte, ..] = padding.as_slice() else { return Err(at.refused("its padding has no value")) };
    if padding.iter().any(|&other| other != byte) {
        return Err(at.refused("rows of its padding are no copies of one byte"));
    }
    let input = at.op.inputs.first().copied().flatten();
    let rows = stream.lines.iter().find(|line| Some(line.tensor) == input).map_or(0, |line| line.rows);
    let (to, bytes) = (at.write(0)?, at.output(0)?.bytes);
    let inside = lowered(at)?.unwrap_or_default();
    Ok(format!(
        "if (i < {top} || i >= {}) {{\n    memset({to}, {byte}, {bytes});\n    return;\n}}\n{inside}",
        top + rows
    ))
}

/// Adds a row to the sums of a line, and makes the result of them when it was the last.
fn summed(at: &mut At, stream: &SourceStream, line: usize) -> Result<String, Refused> {
    let input = at.input(0)?;
    let [_, rows, pixels, channels] = input.shape[..] else { return Err(at.refused("it is no image")) };
    let pixels_of_all = rows * pixels;
    let (name, fragment, how) = if input.dtype == ElementType::Float32 {
        let [least, most] = float_cut(at)?;
        ("sums_f32", Fragment::SumsF32, format!("{pixels_of_all}.0f, {least}, {most}"))
    } else if at.op.kind == "MEAN" {
        let Mean { sides, zero, factor, out_zero } = Mean::of(at)?;
        at.refuse_misfit(sides != [1, pixels_of_all, channels])?;
        let scaled = format!("{zero}, {}, {}, {out_zero}", factor.multiplier, factor.shift);
        ("sums_s8", Fragment::SumsS8, format!("0, {pixels_of_all}, 0, 0, {scaled}"))
    } else {
        let Pool { from, bounds: (least, most), .. } = Pool::of(at)?;
        at.refuse_misfit(from != [1, rows as i64, pixels as i64, channels as i64])?;
        ("sums_s8", Fragment::SumsS8, format!("1, {pixels_of_all}, {least}, {most}, 0, 0, 0, 0"))
    };
    at.uses(fragment);
    let (kernel, prefix, from, to) = (at.k(name), at.emitter.prefix.clone(), at.read(0)?, at.write(0)?);
    let sums = stream.lines[line].place;
    Ok(format!(
        "static const struct {kernel} how = {{{rows}, {pixels}, {channels}, {how}}};\n\
         {kernel}(&how, i, {from}, {prefix}_arena + {sums}, {to});\n"
    ))
}

/// How the kernel of a window is called: on a whole input, or on rows that lie apart.
pub(crate) struct Over {
    /// Code ahead of the call.
    pub(crate) before: String,
    pub(crate) kernel: String,
    pub(crate) from: String,
}

impl At<'_, '_> {
    /// The kernel of a window for where its input lies.
    pub(crate) fn over(&mut self, name: &str, fragment: Fragment, rows: Slide) -> Result<Over, Refused> {
        let input = self.input_id(0).map(|tensor| &self.graph.tensors[tensor].place);
        let Some(&DataPlace::Rows(line)) = input else {
            self.uses(fragment);
            let (kernel, from) = (self.k(name), self.read(0)?);
            let from =
                if fragment == Fragment::WindowF32 { from } else { format!("(const int8_t *)({from})") };
            return Ok(Over { before: String::new(), kernel, from });
        };
        let fragment = fragment.over_rows();
        self.uses(fragment.ok_or_else(|| self.refused("its kernel cannot read rows that lie apart"))?);
        let (taps, stride, dilation) = (rows.window.taps, rows.window.stride, rows.window.dilation);
        let prefix = &self.emitter.prefix;
        let before = format!(
            "const int8_t *rows[{taps}];\n{prefix}_window(rows, {line}, i * {stride} - {}, {taps}, {dilation});\n",
            rows.before
        );
        Ok(Over { before, kernel: format!("{}_rows", self.k(name)), from: "rows".to_owned() })
    }
}
