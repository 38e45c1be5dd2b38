//! Other inputs and outputs of a sub-graph that there was.

use crate::handmade::file::{File, Sub, Tensor, activation, operator, single};
use serenity_tflite::{Error, Model, OFFLINE_PLAN, OfflinePlan, OperatorSource, Signature};

const FLOAT32: i8 = 0;

/// Floats go in and come out, and the operators between them work on bytes. Two signatures name both ends, with a name
/// that stands for a tensor inside; a third is for another sub-graph, with tensors of the same numbers.
fn converting() -> File {
    let float = |name| Tensor { shape: vec![4], dtype: FLOAT32, ..activation(name, 0) };
    let byte = |name| Tensor { scales: vec![0.5], zero_points: vec![-3], ..activation(name, 4) };
    let sub_graph = Sub {
        tensors: vec![float("x"), byte("q"), byte("r"), float("y")],
        operators: vec![
            operator("QUANTIZE", &[0], &[1]),
            operator("RELU", &[1], &[2]),
            operator("DEQUANTIZE", &[2], &[3]),
        ],
        inputs: vec![0],
        outputs: vec![3],
    };
    let signature = |key: &str, sub_graph| Signature {
        key: key.to_owned(),
        sub_graph,
        inputs: vec![("image".to_owned(), 0)],
        outputs: vec![("scores".to_owned(), 3), ("inside".to_owned(), 2)],
    };
    let plan = OfflinePlan { sub_graphs: 2, offsets: vec![-1; 8] };
    File {
        sub_graphs: vec![sub_graph.clone(), sub_graph.clone()],
        buffers: vec![vec![1, 2, 3], plan.to_bytes()],
        metadata: vec![("kept", 1), (OFFLINE_PLAN, 2)],
        signatures: vec![signature("serve", 0), signature("other", 1), signature("again", 0)],
        ..single(sub_graph)
    }
}

fn between(model: &Model) -> Result<Model, Error> {
    let mut edit = model.edit();
    edit.set_operators(0, vec![OperatorSource::Kept(1)])?;
    edit.set_inputs_outputs(0, vec![1], vec![2])?;
    edit.retire_tensor(0, 0)?;
    edit.retire_tensor(0, 3)?;
    Model::parse(edit.finish()?.bytes)
}

#[test]
fn signatures_follow_inputs_and_outputs() {
    let old = Model::parse(converting().bytes()).unwrap();
    let new = between(&old).unwrap();
    let main = &new.sub_graphs()[0];
    assert_eq!((main.inputs(), main.outputs(), main.operators().len()), (&[1][..], &[2][..], 1));
    assert_eq!((new.sub_graphs()[1].inputs(), new.sub_graphs()[1].outputs()), (&[0][..], &[3][..]));
    for (before, after) in old.signatures().iter().zip(new.signatures()) {
        if before.sub_graph == 1 {
            assert_eq!(before, after);
            continue;
        }
        assert_eq!((&before.key, before.sub_graph), (&after.key, after.sub_graph));
        assert_eq!(after.inputs, [("image".to_owned(), 1)]);
        // What was neither an input nor an output is named as before.
        assert_eq!(after.outputs, [("scores".to_owned(), 2), ("inside".to_owned(), 2)]);
    }
    assert_eq!(new.metadata_bytes("kept"), old.metadata_bytes("kept"));
    assert!(old.offline_plan().unwrap().is_some() && new.offline_plan() == Ok(None));
    let input = |model: &Model| model.sub_graphs()[0].tensors()[1].quantization.clone();
    assert_eq!(input(&new), input(&old));
}

#[test]
fn what_a_sub_graph_cannot_take_or_give_is_refused() {
    let model = Model::parse(converting().bytes()).unwrap();
    let mut edit = model.edit();
    for (inputs, outputs) in [(vec![], vec![2]), (vec![1], vec![2, 3])] {
        let error = edit.set_inputs_outputs(0, inputs, outputs).unwrap_err().to_string();
        assert!(error.ends_with("must keep its 1 inputs and 1 outputs"), "{error}");
    }
    assert!(edit.set_inputs_outputs(2, vec![1], vec![2]).is_err());
    edit.set_inputs_outputs(0, vec![1], vec![9]).unwrap();
    assert_eq!(edit.finish().unwrap_err().to_string(), "sub-graph 0, outputs: tensor 9 of 4");
}
