//! Bytes that are no model: they give an error, or a model, and they do so soon.

use crate::handmade::file::{File, Sub, Tensor, Value, activation, diamond, operator, single};
use crate::handmade::order::another_order;
use crate::handmade::patch::{field, put, target, word};
use serenity_ir::OpId;
use serenity_judges::spent;
use serenity_tflite::{Error, Model, ReadOptions};
use std::time::Duration;

/// Of the processor, for a file of a few kilobytes: a hundred times what any of them takes.
const MOST: Duration = Duration::from_secs(5);

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Reads, and if that gives a model, looks at it and writes it.
fn try_all(bytes: Vec<u8>) -> bool {
    let (is_model, time) = spent(|| read_and_write(bytes));
    assert!(time < MOST, "it took {time:?}");
    is_model
}

fn read_and_write(bytes: Vec<u8>) -> bool {
    let folded = Model::parse_with(bytes.clone(), ReadOptions { fold_constants: true });
    let model = Model::parse(bytes);
    if let Ok(model) = &model {
        let orders: Vec<Vec<OpId>> = model.graphs().iter().map(another_order).collect();
        let _ = model.reordered(&orders);
        let mut edit = model.edit();
        edit.set_metadata("note", vec![1]);
        let _ = edit.finish();
        let _ = model.offline_plan();
    }
    model.is_ok() && folded.is_ok()
}

pub(crate) fn samples() -> Vec<Vec<u8>> {
    let mut main = diamond().sub_graphs.remove(0);
    main.operators
        .push(operator("VAR_HANDLE", &[], &[7]).with(111, &[(0, Value::Text("a")), (1, Value::Text("b"))]));
    main.operators.push(operator("CALL_ONCE", &[], &[]).with(103, &[(0, Value::Int(1))]));
    main.operators.push(operator("CUSTOM:Mine", &[7], &[8]));
    main.tensors.push(Tensor { dtype: 13, ..activation("handle", 1) });
    main.tensors.push(activation("result", 5));
    let body = Sub {
        tensors: vec![activation("x", 1), activation("y", 1)],
        operators: vec![operator("RELU", &[0], &[1])],
        inputs: vec![0],
        outputs: vec![1],
    };
    let stateful = File {
        sub_graphs: vec![main, body],
        metadata: vec![("model_control_dependencies", 1), ("OfflineMemoryAllocation", 2)],
        ..diamond()
    };
    vec![diamond().bytes(), stateful.bytes()]
}

#[test]
fn the_samples_themselves_are_models() {
    assert!(samples().into_iter().all(try_all));
}

#[test]
fn every_prefix() {
    for bytes in samples() {
        for end in 0..bytes.len() {
            try_all(bytes[..end].to_vec());
        }
    }
}

#[test]
fn flipped_bytes() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for bytes in samples() {
        for _ in 0..4000 {
            let mut damaged = bytes.clone();
            for _ in 0..=numbers.below(4) {
                let at = numbers.below(damaged.len());
                damaged[at] = numbers.next() as u8;
            }
            try_all(damaged);
        }
    }
}

#[test]
fn words_that_point_anywhere() {
    let mut numbers = Numbers(0x0123_4567_89ab_cdef);
    for bytes in samples() {
        for _ in 0..4000 {
            let mut damaged = bytes.clone();
            let at = 4 * numbers.below(damaged.len() / 4);
            let word = match numbers.below(6) {
                0 => u32::MAX,
                1 => 0x7fff_ffff,
                2 => 0x8000_0000,
                3 => numbers.below(bytes.len()) as u32,
                4 => numbers.below(16) as u32,
                _ => numbers.next() as u32,
            };
            damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
            try_all(damaged);
        }
    }
}

#[test]
fn every_word_once_at_its_worst() {
    for bytes in samples() {
        for at in (0..bytes.len() - 4).step_by(2) {
            for word in [0_u32, 1, 0x7fff_fff0, 0xffff_ffff, 0x0100_0000] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
                try_all(damaged);
            }
        }
    }
}

/// One long list of operands, named by many operators: a small file that would grow to its size squared.
#[test]
fn a_part_that_is_used_again_and_again_is_refused() {
    let count = 20_000;
    let main = Sub {
        tensors: vec![activation("x", 1), activation("y", 1)],
        operators: vec![operator("RELU", &vec![0; count], &[1])],
        inputs: vec![0],
        outputs: vec![1],
    };
    let mut bytes = single(main).bytes();
    // The list of inputs becomes the list of operators: each of its entries points at the one operator.
    let root = word(&bytes, 0);
    let sub_graphs = target(&bytes, field(&bytes, root, 2));
    let sub_graph = target(&bytes, sub_graphs + 4);
    let operators = field(&bytes, sub_graph, 3);
    let operator = target(&bytes, target(&bytes, operators) + 4);
    let list = bytes.len();
    let slots: Vec<u8> = (0..count).flat_map(|_| 0_u32.to_le_bytes()).collect();
    bytes.extend((count as u32).to_le_bytes());
    bytes.extend(slots);
    // Distances are forward only, so the operator's table, its vtable and all, is copied behind the list.
    let vtable = operator - i32::from_le_bytes(bytes[operator..operator + 4].try_into().unwrap()) as usize;
    let length = u16::from_le_bytes([bytes[vtable], bytes[vtable + 1]]) as usize;
    let size = u16::from_le_bytes([bytes[vtable + 2], bytes[vtable + 3]]) as usize;
    let inputs = bytes.len();
    bytes.extend((count as u32).to_le_bytes());
    bytes.extend(vec![0; 4 * count]);
    let copied_vtable = bytes.len();
    bytes.extend_from_within(vtable..vtable + length);
    let copy = bytes.len();
    bytes.extend_from_within(operator..operator + size);
    put(&mut bytes, copy, (copy - copied_vtable) as u32);
    for slot in [1, 2] {
        let at = field(&bytes, copy, slot);
        // Inputs lie before the table: the list is written once more behind it.
        let behind = bytes.len();
        let numbers = if slot == 1 { count } else { 0 };
        bytes.extend((numbers as u32).to_le_bytes());
        bytes.extend_from_within(inputs + 4..inputs + 4 + 4 * numbers);
        put(&mut bytes, at, (behind - at) as u32);
    }
    for index in 0..count {
        let slot = list + 4 + 4 * index;
        put(&mut bytes, slot, (copy - slot) as u32);
    }
    put(&mut bytes, operators, (list - operators) as u32);
    // Refused before it is followed: that is what keeps it quick.
    assert!(matches!(Model::parse(bytes), Err(Error::Repetitive { .. })));
}
