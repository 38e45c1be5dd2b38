//! The smallest ONNX models there are: one op without attributes between a vector `x` and a vector `y`, written by hand.

/// The model `y = op(x)`, both of 8 floats.
pub(crate) fn one_op(op: &str) -> Vec<u8> {
    one_op_named(op, "y", 8)
}

/// The model `output = op(x)`, both of `length` floats.
pub(crate) fn one_op_named(op: &str, output: &str, length: u8) -> Vec<u8> {
    // NodeProto: input, output, op_type.
    let node = [text(1, "x"), text(2, output), text(4, op)].concat();
    // GraphProto: node, name, input, output.
    let graph = [
        message(1, &node),
        text(2, "tiny"),
        message(11, &floats("x", length)),
        message(12, &floats(output, length)),
    ];
    // ModelProto: ir_version 8, graph, opset_import { version 13 }.
    [vec![1 << 3, 8], message(7, &graph.concat()), message(8, &[2 << 3, 13])].concat()
}

/// The model `y = op(x)` that leaves the length of both to the caller.
pub(crate) fn one_op_of_any_length(op: &str) -> Vec<u8> {
    let node = [text(1, "x"), text(2, "y"), text(4, op)].concat();
    let open = |name: &str| {
        let shape = message(1, &text(2, "N"));
        let tensor = [vec![1 << 3, 1], message(2, &shape)].concat();
        [text(1, name), message(2, &message(1, &tensor))].concat()
    };
    model(&[message(1, &node), text(2, "tiny"), message(11, &open("x")), message(12, &open("y"))].concat())
}

/// The model `y = x + w`, where `w` is in a file beside it.
pub(crate) fn with_side_file(file: &str) -> Vec<u8> {
    let node = [text(1, "x"), text(1, "w"), text(2, "y"), text(4, "Add")].concat();
    // TensorProto: dims, data_type, name, external_data { key, value }, data_location: external.
    let place = [text(1, "location"), text(2, file)].concat();
    let weights = [vec![1 << 3, 8, 2 << 3, 1], text(8, "w"), message(13, &place), vec![14 << 3, 1]].concat();
    model(
        &[
            message(1, &node),
            text(2, "tiny"),
            message(5, &weights),
            message(11, &floats("x", 8)),
            message(12, &floats("y", 8)),
        ]
        .concat(),
    )
}

/// A node, for [`network`]; the standard's own domain is an empty one.
pub(crate) fn node(domain: &str, op: &str, inputs: &[&str], outputs: &[&str]) -> Vec<u8> {
    let mut content: Vec<u8> = inputs.iter().flat_map(|name| text(1, name)).collect();
    content.extend(outputs.iter().flat_map(|name| text(2, name)));
    content.extend([text(4, op), text(7, domain)].concat());
    content
}

/// The node, which runs `body` as its attribute `name`: `y = op(x)` inside, of 8 floats.
pub(crate) fn running(mut node: Vec<u8>, name: &str, op: &str) -> Vec<u8> {
    let inner = [text(1, "x"), text(2, "inner"), text(4, op)].concat();
    let body = [message(1, &inner), text(2, name), message(12, &floats("inner", 8))].concat();
    // AttributeProto: name, g, type GRAPH.
    node.extend(message(5, &[text(1, name), message(6, &body), vec![0xa0, 0x01, 5]].concat()));
    node
}

/// A model of these nodes on an input `x` of 8 floats. Of the `outputs` nothing is declared but the name; the tensors
/// `declared` are vectors of 8 floats.
pub(crate) fn network(nodes: &[Vec<u8>], declared: &[&str], outputs: &[&str]) -> Vec<u8> {
    let mut graph: Vec<u8> = nodes.iter().flat_map(|node| message(1, node)).collect();
    graph.extend([text(2, "tiny"), message(11, &floats("x", 8))].concat());
    graph.extend(outputs.iter().flat_map(|name| message(12, &text(1, name))));
    graph.extend(declared.iter().flat_map(|name| message(13, &floats(name, 8))));
    [vec![1 << 3, 8], message(7, &graph), message(8, &[2 << 3, 13])].concat()
}

/// `ModelProto`: `ir_version` 8, graph, `opset_import` { version 13 }.
fn model(graph: &[u8]) -> Vec<u8> {
    let length = u8::try_from(graph.len()).ok().filter(|length| *length < 255).expect("a tiny graph");
    let graph_field = [&[7 << 3 | 2, length | 0x80, length >> 7], graph].concat();
    [vec![1 << 3, 8], graph_field, message(8, &[2 << 3, 13])].concat()
}

/// A declared tensor: a vector of floats.
fn floats(name: &str, length: u8) -> Vec<u8> {
    // ValueInfoProto: name, type { tensor_type { elem_type: float, shape { dim { dim_value } } } }.
    let shape = message(1, &[1 << 3, length]);
    let tensor = [vec![1 << 3, 1], message(2, &shape)].concat();
    [text(1, name), message(2, &message(1, &tensor))].concat()
}

fn text(field: u8, value: &str) -> Vec<u8> {
    message(field, value.as_bytes())
}

/// A field of bytes: its number with wire type 2, its length, its content.
fn message(field: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![field << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
    bytes
}
