//! New constants where old ones were, and only there.

use crate::handmade::damage::{Numbers, samples};
use crate::handmade::file::{File, INT8, Operator, Sub, Value, activation, constant, operator, single};
use crate::handmade::patch::{field, put, target, word};
use serenity_ir::ElementType;
use serenity_tflite::{Edited, Error, Model, NewTensor, OperatorSource};
use std::ops::Range;

/// An operator that reads constants of these sizes, each in a buffer of its own.
fn reading(sizes: &[usize]) -> File {
    let mut tensors = vec![activation("x", 4), activation("y", 4)];
    let mut buffers = Vec::new();
    for (index, &size) in sizes.iter().enumerate() {
        tensors.push(constant("c", &[size as i32], INT8, index as u32 + 1));
        buffers.push((0..size).map(|at| (at * 7 + index + 1) as u8).collect());
    }
    let inputs: Vec<i32> = std::iter::once(0).chain((2..tensors.len()).map(|index| index as i32)).collect();
    let sub_graph = Sub {
        operators: vec![operator("CUSTOM:Mine", &inputs, &[1])],
        tensors,
        inputs: vec![0],
        outputs: vec![1],
    };
    File { buffers, ..single(sub_graph) }
}

/// Takes these constants apart, each at the given places; they are no longer there if `retires`.
fn divided(model: &Model, cuts: &[(usize, Vec<usize>)], retires: bool) -> Result<Edited, Error> {
    let mut edit = model.edit();
    let operator = &model.sub_graphs()[0].operators()[0];
    let mut inputs = operator.inputs.clone();
    for (tensor, places) in cuts {
        let data = model.constant(0, *tensor).unwrap();
        let ends = places.iter().copied().chain([data.len()]);
        for (start, end) in std::iter::once(0).chain(places.iter().copied()).zip(ends) {
            let buffer = edit.add_buffer(data[start..end].to_vec());
            let shape = vec![(end - start) as u64];
            let (name, dtype) = (format!("c{tensor}"), ElementType::Int8);
            inputs.push(Some(edit.add_tensor(
                0,
                NewTensor { name, shape, shape_signature: None, dtype, buffer, quantization: None },
            )?));
        }
        inputs.retain(|input| *input != Some(*tensor));
        if retires {
            edit.retire_tensor(0, *tensor)?;
        }
    }
    let outputs = operator.outputs.clone();
    let mut operators = vec![OperatorSource::Rewired { operator: 0, inputs, outputs }];
    operators.extend((1..model.sub_graphs()[0].operators().len()).map(OperatorSource::Kept));
    edit.set_operators(0, operators)?;
    edit.finish()
}

/// Where a buffer's data lie in its file.
fn place(model: &Model, buffer: usize) -> Range<usize> {
    let data = model.buffer(buffer);
    let start = data.as_ptr() as usize - model.bytes().as_ptr() as usize;
    start..start + data.len()
}

#[test]
fn parts_lie_where_the_whole_was() {
    let model = Model::parse(reading(&[1000, 50]).bytes()).unwrap();
    let cuts = [(2, vec![600, 900])];
    let kept = divided(&model, &cuts, false).unwrap().bytes;
    let written = divided(&model, &cuts, true).unwrap().bytes;
    // The two larger parts; each needs its length in front and begins at a multiple of 16, so the third does not fit.
    assert!(kept.len() - written.len() > 800, "{} and {}", kept.len(), written.len());
    let read = Model::parse(written).unwrap();
    let shift = read.bytes().len() - model.bytes().len();
    let old = place(&model, 1);
    let parts: Vec<Range<usize>> = (3..6).map(|buffer| place(&read, buffer)).collect();
    let lies_there = |part: &Range<usize>| part.start >= old.start + shift && part.end <= old.end + shift;
    assert_eq!(parts.iter().map(lies_there).collect::<Vec<_>>(), [true, true, false]);
    assert!(parts.iter().all(|part| part.start % 16 == 0), "{parts:?}");
    let joined: Vec<u8> = (3..6).flat_map(|buffer| read.buffer(buffer).to_vec()).collect();
    assert_eq!(joined, model.buffer(1));
    assert_eq!((read.buffer(1), read.buffer(2)), ([].as_slice(), model.buffer(2)));
    // What lies outside is as it was.
    let (start, end) = (old.start - 4, old.end);
    assert_eq!(read.bytes()[shift..shift + start], model.bytes()[..start]);
    assert_eq!(read.bytes()[shift + end..], model.bytes()[end..]);
    // Again, with parts of parts.
    let again = Model::parse(divided(&read, &[(4, vec![100])], true).unwrap().bytes).unwrap();
    assert_eq!([again.buffer(6), again.buffer(7)].concat(), read.buffer(3));
    assert_eq!((again.buffer(3), again.buffer(4)), ([].as_slice(), read.buffer(4)));
}

#[test]
fn random_models_divided_at_random() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..200 {
        let sizes: Vec<usize> = (0..=numbers.below(6)).map(|_| 1 + numbers.below(300)).collect();
        let mut file = reading(&sizes);
        let tensors = &mut file.sub_graphs[0].tensors;
        // Some constants share a buffer, and some buffers have another use.
        for tensor in 3..tensors.len() {
            if numbers.below(4) == 0 {
                let other = tensors[2 + numbers.below(tensor - 2)].clone();
                tensors[tensor] = other;
            }
        }
        if numbers.below(3) == 0 {
            file.metadata.push(("note", 1 + numbers.below(sizes.len()) as u32));
        }
        let model = Model::parse(file.bytes()).unwrap();
        let mut cuts = Vec::new();
        for tensor in 2..2 + sizes.len() {
            let size = model.constant(0, tensor).unwrap().len();
            if numbers.below(3) > 0 && size > 3 {
                let mut places: Vec<usize> =
                    (0..=numbers.below(3)).map(|_| 1 + numbers.below(size - 1)).collect();
                places.sort_unstable();
                places.dedup();
                cuts.push((tensor, places));
            }
        }
        let kept = divided(&model, &cuts, false).unwrap().bytes;
        let written = divided(&model, &cuts, true).unwrap().bytes;
        assert_eq!(written, divided(&model, &cuts, true).unwrap().bytes, "the same every time");
        assert!(written.len() <= kept.len() + 64 * cuts.len());
        let (kept, read) = (Model::parse(kept).unwrap(), Model::parse(written).unwrap());
        for buffer in model.buffer_count()..kept.buffer_count() {
            assert_eq!(read.buffer(buffer), kept.buffer(buffer));
            assert_eq!(place(&read, buffer).start % 16, 0);
        }
        for tensor in (2..2 + sizes.len()).filter(|tensor| cuts.iter().all(|(cut, _)| cut != tensor)) {
            assert_eq!(read.constant(0, tensor), model.constant(0, tensor));
        }
        assert_eq!(read.metadata_bytes("note"), model.metadata_bytes("note"));
    }
}

/// The buffer of the first constant, after it was divided.
fn is_reused(bytes: Vec<u8>) -> bool {
    let model = Model::parse(bytes).unwrap();
    let old = model.buffer(1).to_vec();
    let read = Model::parse(divided(&model, &[(2, vec![old.len() / 2])], true).unwrap().bytes).unwrap();
    let first = model.buffer_count();
    assert_eq!([read.buffer(first), read.buffer(first + 1)].concat(), old);
    assert!(read.buffer(1).is_empty() || read.buffer(1) == old);
    read.buffer(1).is_empty()
}

/// The slot that names the table of a buffer.
fn buffer_slot(bytes: &[u8], index: usize) -> usize {
    target(bytes, field(bytes, word(bytes, 0), 4)) + 4 + 4 * index
}

#[test]
fn bytes_with_another_use_stay() {
    let plain = || reading(&[400, 400]);
    assert!(is_reused(plain().bytes()));
    let named = File { metadata: vec![("note", 1)], ..plain() };
    assert!(!is_reused(named.bytes()));
    // Another buffer has the same table, or a table with the same data.
    let mut shared = plain().bytes();
    let (first, second) = (buffer_slot(&shared, 1), buffer_slot(&shared, 2));
    let table = target(&shared, first);
    put(&mut shared, second, (table - second) as u32);
    assert!(!is_reused(shared));
    let mut shared = plain().bytes();
    let fields = [1, 2].map(|index| {
        let table = target(&shared, buffer_slot(&shared, index));
        field(&shared, table, 0)
    });
    let data = target(&shared, fields[0]);
    put(&mut shared, fields[1], (data - fields[1]) as u32);
    assert!(!is_reused(shared));
    // The name of metadata lies in the data.
    let mut crafted = File { metadata: vec![("note", 2)], ..plain() }.bytes();
    let metadata = target(&crafted, target(&crafted, field(&crafted, word(&crafted, 0), 6)) + 4);
    let name = field(&crafted, metadata, 0);
    let data = place(&Model::parse(crafted.clone()).unwrap(), 1).start;
    put(&mut crafted, data + 8, 3);
    put(&mut crafted, name, (data + 8 - name) as u32);
    let found = Model::parse(crafted.clone()).unwrap();
    assert_ne!(found.metadata()[0].name, "note");
    assert!(!is_reused(crafted));
    // Bytes that an offset of the file names.
    let mut outside = plain();
    outside.outside = vec![(16, 4)];
    let bytes = outside.bytes();
    let data = place(&Model::parse(bytes).unwrap(), 1);
    outside.outside = vec![(data.start as u64 + 20, 4)];
    assert!(!is_reused(outside.bytes()));
    outside.outside = vec![(data.end as u64, 4)];
    assert!(is_reused(outside.bytes()));
}

#[test]
fn nothing_is_reused_in_a_file_that_is_not_understood() {
    let with = |options: Operator| {
        let mut file = reading(&[400]);
        let main = &mut file.sub_graphs[0];
        main.tensors.push(activation("z", 4));
        main.operators.push(options);
        file.bytes()
    };
    assert!(is_reused(with(operator("RELU", &[1], &[3]))));
    // The type of options is known and holds a vector; a field of it is not known; its type is not known; it has no fields.
    let reshape = |kind, fields: &[(u16, Value)]| with(operator("MEAN", &[1], &[3]).with(kind, fields));
    assert!(is_reused(reshape(17, &[(0, Value::Ints(vec![1, 4]))])));
    assert!(!is_reused(reshape(17, &[(1, Value::Ints(vec![1, 4]))])));
    assert!(!is_reused(reshape(199, &[(0, Value::Int(1))])));
    assert!(is_reused(reshape(199, &[])));
    assert!(is_reused(reshape(80, &[(0, Value::Byte(2))])));
    let mut sparse = reading(&[400, 40]);
    sparse.sub_graphs[0].tensors[3].sparse = true;
    let plain =
        |tensor: usize| Model::parse(sparse.bytes()).unwrap().sub_graphs()[0].tensors()[tensor].is_plain;
    assert_eq!((plain(2), plain(3)), (true, false));
    assert!(!is_reused(sparse.bytes()));
}

/// Whatever a damaged file says, what was not to change is read as before.
#[test]
fn damaged_files() {
    let mut numbers = Numbers(0x0fed_cba9_8765_4321);
    let mut originals = samples();
    originals.push(reading(&[200, 100, 64]).bytes());
    let mut changes = 0;
    for bytes in originals {
        for _ in 0..4000 {
            let mut damaged = bytes.clone();
            for _ in 0..=numbers.below(3) {
                let at = 4 * numbers.below(damaged.len() / 4);
                let word = match numbers.below(3) {
                    0 => numbers.below(bytes.len()),
                    1 => numbers.below(64),
                    _ => word(&bytes, at).wrapping_add(4 * numbers.below(32)).wrapping_sub(64),
                };
                put(&mut damaged, at, word as u32);
            }
            let Ok(model) = Model::parse(damaged) else { continue };
            let count = model.sub_graphs()[0].tensors().len();
            let constants: Vec<usize> = (0..count)
                .filter(|&tensor| model.constant(0, tensor).is_some_and(|data| data.len() > 8))
                .collect();
            if constants.is_empty() || model.sub_graphs()[0].operators().is_empty() {
                continue;
            }
            let tensor = constants[numbers.below(constants.len())];
            let half = model.constant(0, tensor).unwrap().len() / 2;
            match divided(&model, &[(tensor, vec![half])], true) {
                Err(Error::Unfaithful(what)) => panic!("{what}"),
                Err(_) => {}
                Ok(edited) => {
                    let read = Model::parse(edited.bytes).unwrap();
                    changes += 1;
                    for &other in constants.iter().filter(|&&other| other != tensor) {
                        assert_eq!(read.constant(0, other), model.constant(0, other));
                    }
                    for (old, new) in
                        model.sub_graphs()[0].tensors().iter().zip(read.sub_graphs()[0].tensors())
                    {
                        assert_eq!(old.name, new.name);
                    }
                }
            }
        }
    }
    assert!(changes > 1000, "{changes}");
}
