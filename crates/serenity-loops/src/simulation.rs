//! Tests loops over stripes against the whole tensors, row by row, on thousands of random windows.
//!
//! A row is one number, made of the numbers of the rows that it depends on; two rows are equal only if all these are.
//! What stands for zero is 0, inside a tensor or outside. The state is followed in blocks of 16 bytes, so that rows
//! written too early destroy what is still wanted.

use crate::program::{ALIGNMENT, Program, Step, Stripe, StripeId};
use crate::rows::{Image, RowLocal, Rows, Sliding};
use crate::window::Window;
use crate::{halo, lines};
use serde_json::json;
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId};
use serenity_search::Random;
use std::collections::BTreeMap;

/// A network of some row-local ops, most of them one after the other.
pub(crate) fn network(random: &mut Random) -> Graph {
    let mut graph = GraphBuilder::new("");
    // Rows, or columns of a single one.
    let is_flat = random.index(3) == 0;
    let sides = |rows: u64| if is_flat { [1, rows] } else { [rows, 1] };
    let shaped = |rows: u64, channels: u64, dtype| {
        let [height, width] = sides(rows);
        Tensor::shaped("", vec![1, height, width, channels], dtype).unwrap()
    };
    let image = |rows, channels| shaped(rows, channels, ElementType::Int8);
    let rows = random.pick(&[4, 6, 8, 9, 12, 16, 21, 24]);
    let channels = random.pick(&[16, 32]);
    let mut all = if random.index(4) == 0 {
        let x = graph.input(shaped(rows, channels, ElementType::Float32));
        vec![graph.op("", "QUANTIZE", &[x], image(rows, channels))]
    } else {
        vec![graph.input(image(rows, channels))]
    };
    for _ in 0..2 + random.index(6) {
        let from = if random.index(4) == 0 { random.pick(&all) } else { all[all.len() - 1] };
        let shape = graph.get(from).shape.clone().unwrap();
        let (rows, channels) = (shape[1] * shape[2], shape[3]);
        let mut attributes = Attributes::new();
        let mut inputs = vec![from];
        let (kind, made, depth) = match random.index(9) {
            0..4 => {
                let kernel = random.pick(&[1, 2, 3, 3, 5]);
                let stride = random.pick(&[1, 1, 1, 2]);
                let dilation = if stride == 1 { random.pick(&[1, 1, 2]) } else { 1 };
                let is_same = random.index(3) > 0;
                let is_pool = random.index(4) == 0;
                let dilation = if is_pool { 1 } else { dilation };
                let extent = (kernel - 1) * dilation + 1;
                if extent > rows {
                    continue;
                }
                let made = if is_same { rows.div_ceil(stride) } else { (rows - extent) / stride + 1 };
                attributes.insert("stride".into(), json!(sides(stride)));
                attributes.insert("padding".into(), json!(if is_same { "same" } else { "valid" }));
                attributes.insert("kernel".into(), json!(sides(kernel)));
                if is_pool {
                    ("MAX_POOL_2D", made, channels)
                } else {
                    let depth = random.pick(&[16, 32, 48]);
                    attributes.insert("dilation".into(), json!(sides(dilation)));
                    let [height, width] = sides(kernel);
                    let filter = json!({"shape": [depth, height, width, channels], "dtype": "int8"});
                    attributes.insert("constants".into(), json!({"1": filter}));
                    ("CONV_2D", made, depth)
                }
            }
            4 => {
                let [top, bottom] = [random.index(3) as u64, random.index(3) as u64];
                let mut values = [0, 0, top, bottom, 0, 0, 0, 0];
                if is_flat {
                    values.rotate_right(2);
                }
                let paddings = json!({"1": {"shape": [4, 2], "dtype": "int32", "values": values}});
                attributes.insert("constants".into(), paddings);
                ("PAD", rows + top + bottom, channels)
            }
            8 => {
                let times = random.pick(&[1, 2, 2, 3]);
                attributes = resizing(sides(times * rows), random.index(2) == 0);
                ("RESIZE_NEAREST_NEIGHBOR", times * rows, channels)
            }
            kind => {
                let is_sum = kind == 5;
                let partners = all.iter().copied().filter(|&t| {
                    let other = graph.get(t).shape.clone().unwrap();
                    t != from && other[1] * other[2] == rows && (!is_sum || other[3] == channels)
                });
                let partners: Vec<TensorId> = partners.collect();
                if partners.is_empty() || kind == 7 {
                    ("RELU", rows, channels)
                } else {
                    let other = random.pick(&partners);
                    inputs.push(other);
                    attributes.insert("axis".into(), json!(3));
                    let depth =
                        if is_sum { channels } else { channels + graph.get(other).shape.clone().unwrap()[3] };
                    (if is_sum { "ADD" } else { "CONCATENATION" }, rows, depth)
                }
            }
        };
        if !(2..=48).contains(&made) || depth > 96 {
            continue;
        }
        let output = graph.tensor(image(made, depth));
        graph.push_op(Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs,
            outputs: vec![output],
            attributes,
            extra: Attributes::new(),
        });
        all.push(output);
    }
    graph.output(all[all.len() - 1]);
    graph.build_body().unwrap()
}

fn resizing(size: [u64; 2], is_centered: bool) -> Attributes {
    let constants = json!({"1": {"shape": [2], "dtype": "int32", "values": size}});
    let named = [
        ("constants", constants),
        ("align_corners", false.into()),
        ("half_pixel_centers", is_centered.into()),
    ];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What stands for a row, of the operator and the rows that it is made of.
fn made_of(op: usize, rows: &[u64]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ (op as u64 + 1);
    for &row in rows {
        hash = (hash ^ row).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
    hash | 1
}

/// Runs an op on rows, whole tensors or stripes, as a kernel does.
fn run(op: &RowLocal, inputs: &[&[u64]], made: i64, is_valid: bool) -> Vec<u64> {
    let read = inputs[0].len() as i64;
    let top = match op.rows {
        Rows::Sliding(Sliding { is_same: true, extent, stride, .. }) if !is_valid => {
            ((made - 1) * stride + extent - read).max(0) / 2
        }
        _ => 0,
    };
    let row = |row: i64| match op.rows {
        Rows::Alike => {
            let rows: Vec<u64> = inputs.iter().map(|input| input[row as usize]).collect();
            made_of(op.op.index(), &rows)
        }
        Rows::Sliding(Sliding { extent, stride, takes_zero_points, .. }) => {
            let covered = (0..extent).map(|tap| row * stride - top + tap);
            let value = |at: i64| usize::try_from(at).ok().and_then(|at| inputs[0].get(at).copied());
            let rows: Vec<u64> = if takes_zero_points {
                covered.map(|at| value(at).unwrap_or(0)).collect()
            } else {
                covered.filter_map(value).collect()
            };
            made_of(op.op.index(), &rows)
        }
        Rows::Padded { top, .. } => {
            usize::try_from(row - top).ok().and_then(|at| inputs[0].get(at).copied()).unwrap_or(0)
        }
        Rows::Cropped { top, .. } => inputs[0][(row + top) as usize],
        Rows::Repeated { times } => inputs[0][(row / times) as usize],
    };
    (0..made).map(row).collect()
}

/// What the first iteration takes for carried, computed ahead of the loop.
fn begun(window: &Window, program: &Program, enters: &[u64]) -> Vec<Vec<u64>> {
    let mut first: BTreeMap<StripeId, Vec<u64>> = BTreeMap::new();
    for step in &program.ahead {
        let (out, rows) = match step {
            Step::Cut { out, .. } => (*out, enters[..program.stripes[*out].rows as usize].to_vec()),
            Step::Rows { of, begins, out, .. } => {
                let begin = begins[0] as usize;
                (*out, first[of][begin..begin + program.stripes[*out].rows as usize].to_vec())
            }
            Step::Widen { of, above, out, .. } => {
                let mut rows = vec![0; *above as usize];
                rows.extend(&first[of]);
                (*out, rows)
            }
            Step::Run { op, inputs, out, is_valid } => {
                let inputs: Vec<&[u64]> = inputs.iter().map(|input| first[input].as_slice()).collect();
                (*out, run(window.ops[*op], &inputs, program.stripes[*out].rows, *is_valid))
            }
            other => panic!("ahead of a loop: {other:?}"),
        };
        first.insert(out, rows);
    }
    let begun = |(carry, begun): (&Stripe, &Option<StripeId>)| match begun {
        Some(begun) => first[begun].clone(),
        None => vec![0; carry.rows as usize],
    };
    program.carries.iter().zip(&program.begun).map(begun).collect()
}

/// Follows a loop; returns the rows of all that leaves.
fn follow(window: &Window, program: &Program, whole: &BTreeMap<TensorId, Vec<u64>>) -> Vec<Vec<u64>> {
    let blocks = |t: TensorId| window.row_bytes(t) / ALIGNMENT;
    let garbage = |at: i64| 0xdead_0000_0000_0000 | (at as u64) << 1;
    let room = (program.state + ALIGNMENT - 1) / ALIGNMENT;
    let mut state: Vec<(u64, i64)> = (0..room).map(|_| (0, -1)).collect();
    let enters = program.wholes[0];
    if program.shares {
        for (row, &value) in whole[&enters].iter().enumerate() {
            for part in 0..blocks(enters) {
                state[(program.distance / ALIGNMENT + row as i64 * blocks(enters) + part) as usize] =
                    (value, part);
            }
        }
    }
    let mut also: Vec<Vec<u64>> = program.also.iter().map(|also| vec![0; also.rows as usize]).collect();
    let mut carries = begun(window, program, &whole[&enters]);
    assert!(carries.iter().zip(&program.carries).all(|(rows, carry)| rows.len() as i64 == carry.rows));
    for iteration in 0..program.iterations as usize {
        let mut stripes: BTreeMap<StripeId, Vec<u64>> = BTreeMap::new();
        let mut kept = carries.clone();
        for step in &program.steps {
            let rows_of = |id: StripeId| program.stripes[id].rows;
            match step {
                Step::Cut { whole: number, begins, out } => {
                    let t = program.wholes[*number];
                    let rows = (begins[iteration]..begins[iteration] + rows_of(*out)).map(|row| {
                        if *number > 0 || !program.shares {
                            return whole[&t][usize::try_from(row).expect("a cut begins inside")];
                        }
                        let at = program.distance / ALIGNMENT + row * blocks(t);
                        let parts = (0..blocks(t)).map(|part| state[usize::try_from(at + part).unwrap()]);
                        let parts: Vec<(u64, i64)> = parts.collect();
                        // Rows around what enters are zero points.
                        if parts.iter().all(|part| *part == (0, -1)) {
                            return 0;
                        }
                        let is_one =
                            parts.iter().enumerate().all(|(part, found)| *found == (parts[0].0, part as i64));
                        if is_one { parts[0].0 } else { garbage(at) }
                    });
                    stripes.insert(*out, rows.collect());
                }
                Step::Rows { of, begins, out, .. } => {
                    let begin = begins[iteration] as usize;
                    let rows = stripes[of][begin..begin + rows_of(*out) as usize].to_vec();
                    stripes.insert(*out, rows);
                }
                Step::Widen { of, out, .. } => {
                    stripes.insert(*out, stripes[of].clone());
                }
                Step::Run { op, inputs, out, is_valid } => {
                    let inputs: Vec<&[u64]> = inputs.iter().map(|input| stripes[input].as_slice()).collect();
                    let rows = run(window.ops[*op], &inputs, rows_of(*out), *is_valid);
                    stripes.insert(*out, rows);
                }
                Step::Join { front, carried, new, out } => {
                    let mut rows = vec![0; *front as usize];
                    rows.extend(carried.iter().flat_map(|&carried| &carries[carried]));
                    rows.extend(&stripes[new]);
                    rows.resize(rows_of(*out) as usize, 0);
                    stripes.insert(*out, rows);
                }
                Step::Border { of, rows, begins, out } => {
                    let begin = begins[iteration] as usize;
                    let mut buffer = stripes[of].clone();
                    buffer[begin..begin + *rows as usize].fill(0);
                    stripes.insert(*out, buffer);
                }
                Step::Keep { of, begin, carried } => {
                    let rows = program.carries[*carried].rows;
                    kept[*carried] = stripes[of][*begin as usize..(*begin + rows) as usize].to_vec();
                }
                Step::PutAlso { also: number, of, begins } => {
                    let begin = begins[iteration] as usize;
                    also[*number][begin..begin + stripes[of].len()].copy_from_slice(&stripes[of]);
                }
                Step::Put { of, begins } => {
                    let t = program.leaves;
                    for (row, &value) in stripes[of].iter().enumerate() {
                        for part in 0..blocks(t) {
                            let at = (begins[iteration] + row as i64) * blocks(t) + part;
                            state[at as usize] = (value, part);
                        }
                    }
                }
            }
        }
        carries = kept;
    }
    let rows = window.height(program.leaves);
    let result = (0..rows).map(|row| state[(row * blocks(program.leaves)) as usize].0).collect();
    let rooms = program.also.iter().zip(&also).map(|(also, rows)| {
        let before = also.before as usize;
        rows[before..before + window.height(also.tensor) as usize].to_vec()
    });
    rooms.chain([result]).collect()
}

#[test]
fn stripes_are_the_rows_of_the_whole() {
    let mut random = Random(1);
    // By way, and whether rows are repeated.
    let mut seen = [[0; 2]; 3];
    // By way: of which several tensors leave.
    let mut several = [0; 3];
    for _ in 0..1200 {
        let graph = network(&mut random);
        let locals: Vec<Option<RowLocal>> = graph.op_ids().map(|op| RowLocal::of(&graph, op)).collect();
        let mut whole: BTreeMap<TensorId, Vec<u64>> = BTreeMap::new();
        for &input in graph.inputs() {
            let rows = Image::of(&graph, input).unwrap().rows;
            whole.insert(input, (0..rows).map(|row| made_of(1000, &[row as u64])).collect());
        }
        for (op, local) in graph.ops().iter().zip(&locals) {
            let local = local.as_ref().unwrap_or_else(|| panic!("not row-local: {op:?}"));
            let inputs: Vec<&[u64]> = local.inputs.iter().map(|input| whole[input].as_slice()).collect();
            let made = Image::of(&graph, local.output).unwrap().rows;
            let rows = run(local, &inputs, made, false);
            whole.insert(local.output, rows);
        }
        for first in 0..locals.len() {
            for last in first..locals.len() {
                let ops: Vec<&RowLocal> = locals[first..=last].iter().flatten().collect();
                let Some(window) = Window::new(&graph, ops) else { continue };
                let is_repeated = window.ops.iter().any(|op| op.rows.times() > 1);
                for step in [1, 2, 3, 5] {
                    let lines = lines::program(&window, step, false);
                    let peeled = lines::program(&window, step, true);
                    let halos =
                        window.ops[0].inputs.iter().map(|&enters| halo::program(&window, enters, step));
                    for (way, program) in halos.map(|program| (0, program)).chain([(1, lines), (2, peeled)]) {
                        let Some(program) = program else { continue };
                        seen[way][usize::from(is_repeated)] += 1;
                        several[way] += usize::from(!window.also.is_empty());
                        let rows = follow(&window, &program, &whole);
                        let expected: Vec<Vec<u64>> = window.leaving().map(|t| whole[&t].clone()).collect();
                        assert_eq!(rows, expected, "way {way}, {program:#?} of {:#?}", window.ops);
                    }
                }
            }
        }
    }
    assert!(seen.iter().flatten().all(|&count| count > 400), "{seen:?}");
    assert!(several[..2].iter().all(|&count| count > 400), "{several:?}");
}
