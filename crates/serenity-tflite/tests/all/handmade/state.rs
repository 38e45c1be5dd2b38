//! The order that state forces on operators.

use crate::handmade::file::{
    File, INT8, Operator, RESOURCE, Sub, Tensor, Value, activation, operator, single,
};
use serenity_ir::{Graph, OpId};
use serenity_tflite::Model;

fn handle(name: &'static str) -> Tensor {
    Tensor { dtype: RESOURCE, ..activation(name, 1) }
}

fn var_handle(name: &'static str, output: i32) -> Operator {
    operator("VAR_HANDLE", &[], &[output]).with(111, &[(0, Value::Text("")), (1, Value::Text(name))])
}

fn graph(file: &File) -> Graph {
    Model::parse(file.bytes()).unwrap().graphs()[0].clone()
}

/// Must `first` run before `second`, by whatever way?
fn ordered(graph: &Graph, first: u32, second: u32) -> bool {
    let mut before = vec![OpId(second)];
    while let Some(op) = before.pop() {
        if op == OpId(first) {
            return true;
        }
        before.extend(graph.predecessors(op));
    }
    false
}

/// Operators 0 and 1 make handles, then 2 reads p, 3 reads p, 4 writes p, 5 reads q, 6 reads p.
fn variables(second: &'static str) -> Sub {
    let tensors = vec![
        handle("p"),
        handle("q"),
        activation("a", 1),
        activation("b", 1),
        activation("c", 1),
        activation("d", 1),
    ];
    Sub {
        tensors,
        operators: vec![
            var_handle("p", 0),
            var_handle(second, 1),
            operator("READ_VARIABLE", &[0], &[2]),
            operator("READ_VARIABLE", &[0], &[3]),
            operator("ASSIGN_VARIABLE", &[0, 2], &[]),
            operator("READ_VARIABLE", &[1], &[4]),
            operator("READ_VARIABLE", &[0], &[5]),
        ],
        inputs: vec![],
        outputs: vec![2, 3, 4, 5],
    }
}

#[test]
fn reads_may_change_places_and_writes_may_not() {
    let graph = graph(&single(variables("q")));
    assert!(!ordered(&graph, 2, 3));
    assert!(ordered(&graph, 2, 4) && ordered(&graph, 3, 4) && ordered(&graph, 4, 6));
    assert!(!ordered(&graph, 4, 5), "another variable is free");
    let made_up: Vec<u64> = graph.tensors().iter().skip(6).map(|tensor| tensor.bytes).collect();
    assert_eq!(made_up, [0; 3]);
    assert!(graph.tensors()[..2].iter().all(|handle| handle.bytes == 0), "VAR_HANDLE keeps its handle");
}

#[test]
fn the_same_name_is_the_same_variable() {
    assert!(ordered(&graph(&single(variables("p"))), 4, 5));
}

#[test]
fn a_handle_from_elsewhere_may_mean_any_variable() {
    let mut sub_graph = variables("q");
    sub_graph.operators.remove(1);
    sub_graph.inputs = vec![1];
    let graph = graph(&single(sub_graph));
    assert!(ordered(&graph, 3, 4));
    assert_eq!(graph.tensors()[1].bytes, 4, "a handle that is passed in takes its place");
}

#[test]
fn once_comes_before_all_that_touches_state() {
    let mut main = variables("q");
    let call = operator("CALL_ONCE", &[], &[]).with(103, &[(0, Value::Int(1))]);
    main.operators.insert(4, call);
    let init = Sub {
        tensors: vec![handle("p"), activation("start", 1)],
        operators: vec![var_handle("p", 0), operator("ASSIGN_VARIABLE", &[0, 1], &[])],
        inputs: vec![1],
        outputs: vec![],
    };
    let graph = graph(&File { sub_graphs: vec![main, init], ..File::default() });
    for earlier in [2, 3] {
        assert!(ordered(&graph, earlier, 4));
    }
    for later in [5, 6, 7] {
        assert!(ordered(&graph, 4, later));
    }
    assert!(!ordered(&graph, 1, 4), "making a handle touches nothing");
}

/// Two operators of these kinds beside each other, each with its own input and output, and one body they may run.
fn beside_each_other(kinds: [&'static str; 2], body: Sub) -> Graph {
    let with_options = |operator: Operator| match operator.kind {
        "IF" => operator.with(92, &[(0, Value::Int(1)), (1, Value::Int(1))]),
        _ => operator,
    };
    let main = Sub {
        tensors: vec![activation("x", 1), activation("a", 1), activation("b", 1)],
        operators: vec![
            with_options(operator(kinds[0], &[0], &[1])),
            with_options(operator(kinds[1], &[0], &[2])),
        ],
        inputs: vec![0],
        outputs: vec![1, 2],
    };
    graph(&File { sub_graphs: vec![main, body], ..File::default() })
}

fn body(kind: &'static str) -> Sub {
    Sub {
        tensors: vec![activation("x", 1), activation("y", 1)],
        operators: vec![operator(kind, &[0], &[1])],
        inputs: vec![0],
        outputs: vec![1],
    }
}

#[test]
fn hidden_state_keeps_its_order() {
    let cases = [
        (["RELU", "RELU"], false),
        (["RANDOM_STANDARD_NORMAL", "RANDOM_STANDARD_NORMAL"], true),
        (["RANDOM_STANDARD_NORMAL", "CUSTOM:Mine"], false),
        (["CUSTOM:Mine", "CUSTOM:Yours"], true),
        (["CUSTOM:Mine", "newer"], true),
        (["CUSTOM:SignalStacker", "CUSTOM:SignalFramer"], false),
        (["CUSTOM:SignalStacker", "CUSTOM:Mine"], false),
    ];
    for (kinds, expected) in cases {
        assert_eq!(ordered(&beside_each_other(kinds, body("RELU")), 0, 1), expected, "{kinds:?}");
    }
}

#[test]
fn bodies_count_only_if_they_touch_state() {
    assert!(!ordered(&beside_each_other(["IF", "IF"], body("RELU")), 0, 1));
    assert!(ordered(&beside_each_other(["IF", "IF"], body("CUSTOM:Mine")), 0, 1));
    assert!(ordered(&beside_each_other(["RANDOM_STANDARD_NORMAL", "IF"], body("CUSTOM:Mine")), 0, 1));
    assert!(!ordered(&beside_each_other(["RELU", "IF"], body("CUSTOM:Mine")), 0, 1));
}

#[test]
fn operators_on_one_variable_tensor_keep_their_order_and_it_is_no_activation() {
    let state = Tensor { variable: true, dtype: INT8, ..activation("state", 8) };
    let sub_graph = Sub {
        tensors: vec![activation("x", 8), state, activation("a", 8), activation("b", 8)],
        operators: vec![operator("ADD", &[0, 1], &[2]), operator("ADD", &[0, 1], &[3])],
        inputs: vec![0],
        outputs: vec![2, 3],
    };
    let graph = graph(&single(sub_graph));
    assert!(ordered(&graph, 0, 1));
    assert_eq!(graph.tensors().len(), 4, "x, a, b and one that keeps the order");
    assert_eq!(graph.op(OpId(0)).attributes["variables"]["1"]["name"], "state");
}

#[test]
fn control_dependencies_of_the_file_are_obeyed() {
    let file = |pairs: Vec<u8>| {
        let main = Sub {
            tensors: vec![activation("x", 1), activation("a", 1), activation("b", 1)],
            operators: vec![operator("RELU", &[0], &[1]), operator("RELU", &[0], &[2])],
            inputs: vec![0],
            outputs: vec![1, 2],
        };
        File { buffers: vec![pairs], metadata: vec![("model_control_dependencies", 1)], ..single(main) }
    };
    assert!(ordered(&graph(&file(vec![1, 1, 1, 0, 2])), 0, 1));
    assert!(!ordered(&graph(&file(vec![1, 1, 0])), 0, 1));
    assert!(!ordered(&graph(&file(vec![9, 9, 9])), 0, 1), "what cannot be read says nothing");
}
