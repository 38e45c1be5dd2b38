//! Cells that remember.

use super::options::Affine;
use super::quantized::Layer;
use super::windows::wish;
use crate::curves::logistic_places;
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::pool::{Ctype, float};
use crate::refused::Refused;
use crate::source::DataPlace;
use serenity_ir::ElementType::{self, Float32, Int8, Int16};

/// The order of the operands: weights of what is read, weights of what the cells gave, biases; each for the gates in
/// the order of [`GATES`].
const WEIGHTS: usize = 1;
const CELL_WEIGHTS: usize = 5;
const BIAS: usize = 12;
const LAST: usize = 18;
const MEMORY: usize = 19;
const OPERANDS: usize = 24;

/// As the operands have them, with the member of the structure that each is.
const GATES: [&str; 4] = ["input", "forget", "candidate", "output"];
/// As the structure has them.
const ORDER: [usize; 4] = [1, 0, 2, 3];

/// What gates give is a fraction of 2^15, and what they are made of has 12 bits after the point.
const GATE: f64 = 1.0 / 32_768.0;
const ARGUMENT: f64 = 1.0 / 4096.0;

/// What an `UNIDIRECTIONAL_SEQUENCE_LSTM` is made of, whatever its numbers are.
struct Lstm {
    batches: u64,
    steps: u64,
    inputs: u64,
    cells: u64,
    /// Places from one batch, and from one step, to the next.
    apart: [u64; 2],
}

impl Lstm {
    /// Refused if an operand is there that no cell here has, or if its shapes or types do not fit together.
    fn of(at: &At, [dtype, memory_dtype]: [&ElementType; 2]) -> Result<Self, Refused> {
        let (input, output, last, memory) = (at.input(0)?, at.output(0)?, at.input(LAST)?, at.input(MEMORY)?);
        for tensor in [input, output, last] {
            at.must_be(tensor, dtype)?;
        }
        at.must_be(memory, memory_dtype)?;
        let left_out = (9..12).chain(16..18).chain(20..OPERANDS);
        if at.op.inputs.len() != OPERANDS || { left_out }.any(|position| at.input_id(position).is_some()) {
            return Err(
                at.not_covered("it has peepholes, a projection or a normalisation, or too few operands")
            );
        }
        if at.word("activation") != Some("tanh") {
            return Err(at.not_covered("its activation is another than `tanh`"));
        }
        if !matches!((&last.place, &memory.place), (DataPlace::Variable, DataPlace::Variable)) {
            return Err(at.not_covered("its state is no variable"));
        }
        let (&[slow, fast, inputs], &[_, _, cells]) = (&input.shape[..], &output.shape[..]) else {
            return Err(at.not_covered("it is covered for tensors of three sides only"));
        };
        let by_time = at.flag("time_major");
        let (batches, steps) = if by_time { (fast, slow) } else { (slow, fast) };
        let kept = batches.checked_mul(cells);
        at.refuse_misfit(
            output.shape[..2] != input.shape[..2]
                || [last, memory].map(|state| Some(state.count())) != [kept; 2],
        )?;
        let apart = if by_time { [1, batches] } else { [steps, 1] };
        Ok(Self { batches, steps, inputs, cells, apart })
    }

    /// As the members of a structure that all cells begin with.
    fn members(&self) -> String {
        let Self { batches, steps, inputs, cells, apart } = self;
        format!("{batches}, {steps}, {inputs}, {cells}, {}, {}", apart[0], apart[1])
    }
}

/// `UNIDIRECTIONAL_SEQUENCE_LSTM` of floats.
pub(super) fn lstm_of_floats(at: &mut At) -> Result<String, Refused> {
    let made = Lstm::of(at, [&Float32, &Float32])?;
    let wish = wish(at);
    let mut gates = Vec::new();
    for number in ORDER {
        let mut members = Vec::new();
        let operands = [
            ("weights", WEIGHTS + number, vec![made.cells, made.inputs]),
            ("cell_weights", CELL_WEIGHTS + number, vec![made.cells, made.cells]),
            ("bias", BIAS + number, vec![made.cells]),
        ];
        for (what, position, shape) in operands {
            let tensor = at.input(position)?;
            at.must_be(tensor, &Float32)?;
            at.refuse_misfit(tensor.shape != shape)?;
            let bytes = at.constant(position).filter(|bytes| bytes.len() as u64 == tensor.bytes);
            let bytes = bytes.ok_or_else(|| at.not_covered("its weights are no constant"))?;
            let name = format!("{wish}_{}_{what}", GATES[number]);
            members.push(at.emitter.pool.named(Ctype::F32, bytes, &name, what));
        }
        gates.push(format!("/* {} */ {{{}}}", GATES[number], members.join(", ")));
    }
    at.uses(Fragment::LstmF32);
    let most = at.real("cell_clip").filter(|&clip| clip > 0.0).map_or_else(|| "FLT_MAX".to_owned(), float);
    let (kernel, from, to) = (at.k("lstm_f32"), at.read(0)?, at.write(0)?);
    let (last, memory) = (at.read(LAST)?, at.read(MEMORY)?);
    Ok(format!(
        "static const struct {kernel} layer = {{\n    {}, {most},\n    {},\n}};\n{kernel}(&layer, {from}, {last}, {memory}, {to});\n",
        made.members(),
        gates.join(",\n    ")
    ))
}

/// `UNIDIRECTIONAL_SEQUENCE_LSTM` of 8-bit integers with a memory of 16-bit ones.
pub(super) fn lstm(at: &mut At) -> Result<String, Refused> {
    let made = Lstm::of(at, [&Int8, &Int16])?;
    let Lstm { inputs, cells, .. } = made;
    let (read, given) = (at.affine(at.input(0)?)?, at.affine(at.input(LAST)?)?);
    let mut gates = Vec::new();
    for number in ORDER {
        gates.push(gate(at, number, [read, given], [cells, inputs])?);
    }
    let memory_scale = memory_scale(at)?;
    let products = [GATE, GATE * GATE / memory_scale, GATE * GATE / given.scale()].map(Factor::of);
    if !products.iter().all(|factor| factor.holds(1 << 30)) {
        return Err(at.not_covered("its state has too fine a scale"));
    }
    // The argument of the curve has 12 bits after the point, times 3.
    let finer = 12 + memory_scale.log2() as i32;
    let (curve_multiplier, curve_shift) = if finer >= 0 { (3 << finer, 0) } else { (3, -finer) };
    let most = at.real("cell_clip").filter(|&clip| clip > 0.0);
    let most = most.map_or(32_768, |clip| (f64::from(clip) / memory_scale).min(32_767.0) as i32);
    let curve: Vec<u8> = logistic_places().iter().flat_map(|place| place.to_le_bytes()).collect();
    let curve =
        at.emitter.pool.named(Ctype::U16, &curve, "logistic", "the logistic function, places 1/24 apart");
    at.uses(Fragment::LstmS8);
    let (kernel, from, to) = (at.k("lstm_s8"), at.read(0)?, at.write(0)?);
    let (last, memory) = (at.read(LAST)?, at.read(MEMORY)?);
    let factors: Vec<String> = products.iter().map(|f| format!("{}, {}, ", f.multiplier, f.shift)).collect();
    Ok(format!(
        "static const struct {kernel} layer = {{\n    {},\n    /* products, zero point */ {}{},\n    /* curve */ {curve_multiplier}, {curve_shift}, {most}, {curve},\n    {},\n}};\n\
         {kernel}(&layer, (const int8_t *)({from}), (int8_t *)({last}), {memory}, (int8_t *)({to}));\n",
        made.members(),
        factors.concat(),
        given.zero,
        gates.join(",\n    ")
    ))
}

/// The scale of the memory: a power of two, near enough to 1 for the curve.
fn memory_scale(at: &At) -> Result<f64, Refused> {
    let quantization = at.input(MEMORY)?.quantization.as_ref();
    let scale = quantization.filter(|q| q.scales.len() == 1 && q.zero_points.iter().all(|&zero| zero == 0));
    let scale = scale.map_or(0.0, |q| f64::from(q.scales[0]));
    let is_power = (-24..=0).any(|power| scale.to_bits() == 2_f64.powi(power).to_bits());
    is_power.then_some(scale).ok_or_else(|| at.not_covered("its memory has a scale that is no power of two"))
}

/// One gate, as the members of its structure.
fn gate(
    at: &mut At,
    number: usize,
    [read, given]: [Affine; 2],
    [cells, inputs]: [u64; 2],
) -> Result<String, Refused> {
    let wish = format!("{}_{}", wish(at), GATES[number]);
    let mut members = Vec::new();
    let sides = [
        (
            "weights",
            WEIGHTS + number,
            read,
            inputs,
            at.bias(BIAS + number, cells as usize)?.map(<[u8]>::to_vec),
        ),
        ("cell_weights", CELL_WEIGHTS + number, given, cells, None),
    ];
    for (what, position, source, width, bias) in sides {
        let filter = at.input(position)?;
        if filter.shape[..] != [cells, width] || width == 0 {
            return Err(at.not_covered("its weights have another shape than its cells need"));
        }
        let scale = filter.quantization.as_ref().filter(|q| q.scales.len() == 1).map(|q| q.scales[0]);
        let scale = scale.filter(|scale| scale.is_finite() && *scale >= 0.0);
        let scale = scale.ok_or_else(|| at.not_covered("its weights have more than one scale"))?;
        // The runtime multiplies these two scales as floats.
        let factor = Factor::of(f64::from(source.scale * scale) / ARGUMENT);
        let weights = at.weights(position)?;
        let each = weights.chunks(width as usize);
        let each = each.map(|row| Box::new(row.iter().copied()) as Box<dyn Iterator<Item = i8>>);
        let layer = Layer::new(at, each, bias.as_deref(), source.zero, vec![factor])?;
        if layer.wraps {
            return Err(at.not_covered("its sums may go beyond 32 bits"));
        }
        let pool = &mut at.emitter.pool;
        let why = format!("a matrix of {cells} x {width}");
        let weights = pool.i8s(&weights, &format!("{wish}_{what}"), &why);
        let bias = pool.i32s(
            &layer.bias,
            &format!("{wish}_bias"),
            "biases, with what the zero point of what is read adds",
        );
        members.push((weights, bias, factor));
    }
    let [(weights, bias, factor), (cell_weights, cell_bias, cell_factor)] = &members[..] else {
        return Err(at.not_covered("its weights are missing"));
    };
    Ok(format!(
        "/* {} */ {{{weights}, {cell_weights}, {bias}, {cell_bias}, {}, {}, {}, {}}}",
        GATES[number], factor.multiplier, factor.shift, cell_factor.multiplier, cell_factor.shift
    ))
}
