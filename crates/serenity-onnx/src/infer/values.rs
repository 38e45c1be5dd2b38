//! The values of small tensors, computed where shapes hang on them: the arithmetic that exporters put around `Shape`.

use super::Call;
use super::call::axis_index;
use super::layout::cuts;
use crate::data_type::DataType;
use crate::fact::{Fact, Values, element_count};
use crate::proto::MOST_VALUES;

/// The values of a node's first output, of which type and shape are known.
pub(super) fn evaluate(call: &Call<'_, '_>, output: &Fact) -> Option<Values> {
    let shape = output.shape.as_deref()?;
    let count = element_count(shape).filter(|&count| count <= MOST_VALUES)? as usize;
    let first = call.input(0)?.values.as_ref()?;
    match call.node.op_type {
        "Identity" | "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" => Some(first.clone()),
        "Cast" | "CastLike" => Some(cast(first, output.data_type?)),
        "Concat" if call.axis(1, shape.len())? == 0 => concat(call),
        "Gather" if call.shape(0)?.len() == 1 => {
            let places: Option<Vec<usize>> =
                call.ints(1)?.iter().map(|&index| axis_index(index, first.len())).collect();
            first.pick(places?.into_iter())
        }
        "Slice" => {
            let old = call.shape(0)?;
            let (mut origin, mut strides) = (0_i64, row_strides(old));
            for (axis, cut) in cuts(call, old)? {
                origin = origin.wrapping_add(cut.start.wrapping_mul(strides[axis]));
                strides[axis] = strides[axis].wrapping_mul(cut.step);
            }
            first.pick(walk(shape, origin, &strides))
        }
        "Transpose" => {
            let old = row_strides(call.shape(0)?);
            let strides: Option<Vec<i64>> = match call.ints_attribute("perm") {
                Some(axes) => axes.iter().map(|&axis| Some(old[axis_index(axis, old.len())?])).collect(),
                None => Some(old.into_iter().rev().collect()),
            };
            first.pick(walk(shape, 0, &strides?))
        }
        "Expand" => stretch(first, call.shape(0)?, shape),
        "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceSum" if count == 1 => {
            reduce(call.node.op_type, first)
        }
        "Where" => choose(call, shape),
        _ if call.input_count() == 1 => unary(call.node.op_type, first),
        _ if call.input_count() == 2 => binary(call, shape),
        _ => None,
    }
}

fn cast(values: &Values, to: DataType) -> Values {
    match values {
        Values::Ints(values) if to == DataType::BOOL => {
            Values::Ints(values.iter().map(|&v| i64::from(v != 0)).collect())
        }
        Values::Floats(values) if to == DataType::BOOL => {
            Values::Ints(values.iter().map(|&v| i64::from(v != 0.0)).collect())
        }
        Values::Floats(values) if to.is_integer() => Values::Ints(values.iter().map(|&v| v as i64).collect()),
        Values::Ints(values) if !to.is_integer() => {
            Values::Floats(values.iter().map(|&v| v as f64).collect())
        }
        same => same.clone(),
    }
}

fn concat(call: &Call<'_, '_>) -> Option<Values> {
    let pieces: Vec<&Values> = call.given_inputs().map(|fact| fact.values.as_ref()).collect::<Option<_>>()?;
    let ints = pieces.iter().map(|piece| match piece {
        Values::Ints(values) => Some(values.as_slice()),
        Values::Floats(_) => None,
    });
    if let Some(ints) = ints.collect::<Option<Vec<_>>>() {
        return Some(Values::Ints(ints.concat()));
    }
    let floats = pieces.iter().map(|piece| match piece {
        Values::Floats(values) => Some(values.as_slice()),
        Values::Ints(_) => None,
    });
    Some(Values::Floats(floats.collect::<Option<Vec<_>>>()?.concat()))
}

fn reduce(op_type: &str, values: &Values) -> Option<Values> {
    let Values::Ints(values) = values else { return None };
    let mut values = values.iter().copied();
    Some(Values::Ints(vec![match op_type {
        "ReduceMax" => values.max()?,
        "ReduceMin" => values.min()?,
        "ReduceProd" => values.try_fold(1, i64::checked_mul)?,
        _ => values.try_fold(0, i64::checked_add)?,
    }]))
}

/// How far apart neighbours along each axis lie. An empty tensor may have sizes whose product overflows; nobody walks it.
fn row_strides(shape: &[u64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = i64::wrapping_mul(strides[axis], shape[axis] as i64);
    }
    strides
}

/// The places of all elements of a view, row by row.
fn walk(shape: &[u64], origin: i64, strides: &[i64]) -> impl Iterator<Item = usize> {
    let rows = row_strides(shape);
    let count = element_count(shape).unwrap_or(0) as i64;
    (0..count).map(move |n| {
        let steps = rows.iter().zip(shape).zip(strides);
        let offset = steps.map(|((&row, &size), &stride)| (n / row % size as i64).wrapping_mul(stride));
        offset.fold(origin, i64::wrapping_add) as usize
    })
}

/// Values of shape `from`, broadcast to the shape `to`.
fn stretch(values: &Values, from: &[u64], to: &[u64]) -> Option<Values> {
    let mut strides = vec![0; to.len().checked_sub(from.len())?];
    let along = row_strides(from).into_iter().zip(from);
    strides.extend(along.map(|(stride, &size)| if size == 1 { 0 } else { stride }));
    values.pick(walk(to, 0, &strides))
}

/// An input, broadcast to the output's shape.
fn operand(call: &Call<'_, '_>, position: usize, shape: &[u64]) -> Option<Values> {
    let fact = call.input(position)?;
    stretch(fact.values.as_ref()?, fact.shape.as_deref()?, shape)
}

fn choose(call: &Call<'_, '_>, shape: &[u64]) -> Option<Values> {
    let operands = (operand(call, 0, shape)?, operand(call, 1, shape)?, operand(call, 2, shape)?);
    let (Values::Ints(condition), Values::Ints(yes), Values::Ints(no)) = operands else { return None };
    let pick = |((condition, yes), no)| if condition != 0 { yes } else { no };
    Some(Values::Ints(condition.into_iter().zip(yes).zip(no).map(pick).collect()))
}

fn unary(op_type: &str, values: &Values) -> Option<Values> {
    match values {
        Values::Ints(values) => {
            let apply: fn(i64) -> Option<i64> = match op_type {
                "Neg" => i64::checked_neg,
                "Abs" => i64::checked_abs,
                "Not" => |v| Some(i64::from(v == 0)),
                _ => return None,
            };
            values.iter().map(|&v| apply(v)).collect::<Option<_>>().map(Values::Ints)
        }
        Values::Floats(values) => {
            let apply: fn(f64) -> f64 = match op_type {
                "Neg" => |v| -v,
                "Abs" => f64::abs,
                "Ceil" => f64::ceil,
                "Floor" => f64::floor,
                "Sqrt" => f64::sqrt,
                _ => return None,
            };
            Some(Values::Floats(values.iter().map(|&v| apply(v)).collect()))
        }
    }
}

fn binary(call: &Call<'_, '_>, shape: &[u64]) -> Option<Values> {
    let op_type = call.node.op_type;
    match (operand(call, 0, shape)?, operand(call, 1, shape)?) {
        (Values::Ints(a), Values::Ints(b)) => {
            let apply = int_operator(op_type)?;
            a.into_iter().zip(b).map(|(a, b)| apply(a, b)).collect::<Option<_>>().map(Values::Ints)
        }
        (Values::Floats(a), Values::Floats(b)) => {
            let apply = float_operator(op_type)?;
            Some(Values::Floats(a.into_iter().zip(b).map(|(a, b)| apply(a, b)).collect()))
        }
        _ => None,
    }
}

fn float_operator(op_type: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match op_type {
        "Add" => |a, b| a + b,
        "Sub" => |a, b| a - b,
        "Mul" => |a, b| a * b,
        "Div" => |a, b| a / b,
        "Max" => f64::max,
        "Min" => f64::min,
        _ => return None,
    })
}

fn int_operator(op_type: &str) -> Option<fn(i64, i64) -> Option<i64>> {
    Some(match op_type {
        "Add" => i64::checked_add,
        "Sub" => i64::checked_sub,
        "Mul" => i64::checked_mul,
        "Div" => i64::checked_div,
        // The sign of the divisor, as in Python.
        "Mod" => |a, b| {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        },
        "Max" => |a, b| Some(a.max(b)),
        "Min" => |a, b| Some(a.min(b)),
        "Equal" => |a, b| Some(i64::from(a == b)),
        "Greater" => |a, b| Some(i64::from(a > b)),
        "GreaterOrEqual" => |a, b| Some(i64::from(a >= b)),
        "Less" => |a, b| Some(i64::from(a < b)),
        "LessOrEqual" => |a, b| Some(i64::from(a <= b)),
        "And" => |a, b| Some(i64::from(a != 0 && b != 0)),
        "Or" => |a, b| Some(i64::from(a != 0 || b != 0)),
        _ => return None,
    })
}
