//! A convolution and a `RELU` as a loop over two rows at a time.
//!
//! The image `x` of 8 rows has 8 elements a row, the result `y` has 12. Both are in one flat state of 96 elements, `y`
//! from its start and `x` from element 24, so that the rows of `y` come to lie on rows of `x` that were read before.

use serde_json::{Value, json};
use serenity_formats::{Format, GraphFile, ModelFile, ReadOptions};
use serenity_ir::{
    Attributes, Constant, ElementType, Graph, GraphBuilder, Model, Op, OpId, OpKind, Operand, Quantization,
    Tensor, TensorId,
};
use serenity_judges::{Engine, Inputs, Rewritten};
use serenity_loops::Looped;
use std::sync::Arc;

const X: TensorId = TensorId(0);
const Y: TensorId = TensorId(2);

/// The numbers of one kind of network.
#[derive(Clone)]
struct Numbers {
    dtype: ElementType,
    /// Of x, and of everything behind it.
    quantization: [Option<Quantization>; 2],
    zero: Value,
}

fn int8() -> Numbers {
    let quantization = |scale, zero_point| {
        Some(Quantization { scales: vec![scale], zero_points: vec![zero_point], axis: 0 })
    };
    Numbers {
        dtype: ElementType::Int8,
        quantization: [quantization(0.5, 3), quantization(0.25, -7)],
        zero: json!(3),
    }
}

fn float() -> Numbers {
    Numbers { dtype: ElementType::Float32, quantization: [None, None], zero: json!(0.0) }
}

fn tensor(name: &str, shape: &[u64], dtype: &ElementType, quantization: Option<&Quantization>) -> Tensor {
    Tensor {
        shape: Some(shape.to_vec()),
        dtype: Some(dtype.clone()),
        quantization: quantization.cloned(),
        ..Tensor::sized(name, dtype.bytes_of(shape).unwrap())
    }
}

fn object(value: &Value) -> Attributes {
    value.as_object().unwrap().clone()
}

impl Numbers {
    fn like_x(&self, name: &str, shape: &[u64]) -> Tensor {
        tensor(name, shape, &self.dtype, self.quantization[0].as_ref())
    }

    fn like_y(&self, name: &str, shape: &[u64]) -> Tensor {
        tensor(name, shape, &self.dtype, self.quantization[1].as_ref())
    }

    /// Weights that differ, and a scale for each channel.
    fn constants(&self) -> Vec<Constant> {
        let scales = vec![0.5, 0.25, 0.125];
        let (weights, bias) = (-9..9_i8, [40_i16, -100, 7]);
        let constant = |name: &str, shape: &[u64], dtype, scales, data| Constant {
            name: name.to_owned(),
            shape: shape.to_vec(),
            dtype,
            quantization: self.quantization[0].as_ref().map(|_| Quantization {
                scales,
                zero_points: vec![0; 3],
                axis: 0,
            }),
            data,
        };
        let floats =
            |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let (weight_data, bias_type, bias_data) = if self.dtype == ElementType::Float32 {
            (
                floats(&mut weights.map(f32::from)),
                ElementType::Float32,
                floats(&mut bias.into_iter().map(f32::from)),
            )
        } else {
            let bias = bias.into_iter().flat_map(|value| i32::from(value).to_le_bytes()).collect();
            (weights.map(i8::cast_unsigned).collect(), ElementType::Int32, bias)
        };
        let halves = scales.iter().map(|scale| scale * 0.5).collect();
        vec![
            constant("w", &[3, 1, 3, 2], self.dtype.clone(), scales, weight_data),
            constant("b", &[3], bias_type, halves, bias_data),
        ]
    }

    /// The network as it was: `x`, a convolution along the width, `a`, a `RELU`, `y`.
    fn file(&self) -> Arc<dyn ModelFile> {
        let mut builder = GraphBuilder::new("main");
        let x = builder.input(self.like_x("x", &[1, 8, 4, 2]));
        let a = builder.tensor(self.like_y("a", &[1, 8, 4, 3]));
        let y = builder.tensor(self.like_y("y", &[1, 8, 4, 3]));
        let options = json!({"kernel": [1, 3], "stride": [1, 1], "dilation": [1, 1], "padding": "same", "activation": "none"});
        push(&mut builder, "CONV_2D", &[x], &[a], &options);
        push(&mut builder, "RELU", &[a], &[y], &json!({}));
        builder.output(y);
        let operands = vec![
            vec![Operand::Activation(x), Operand::Constant(0), Operand::Constant(1)],
            vec![Operand::Activation(a)],
        ];
        let model = Model::new(builder.build().unwrap(), operands, self.constants()).unwrap();
        read(Format::TfLite.create(&model).unwrap())
    }

    fn looped(&self, file: &dyn ModelFile) -> Looped {
        let old = &file.graphs()[0];
        Looped {
            graphs: vec![self.main(old), self.condition(), self.body(old)],
            origins: vec![
                vec![None; 6],
                vec![None],
                [vec![None; 4], vec![Some(OpId(0)), Some(OpId(1))], vec![None; 4]].concat(),
            ],
        }
    }

    fn main(&self, old: &Graph) -> Graph {
        let mut builder = GraphBuilder::new("main");
        for tensor in old.tensors() {
            let is_inner = tensor.name == "a";
            let empty = Tensor { shape: Some(vec![0]), bytes: 0, ..tensor.clone() };
            builder.tensor(if is_inner { empty } else { tensor.clone() });
        }
        builder.mark_input(X);
        let [flat, gap, rest, before, after] = [("xf", 64), ("gap", 24), ("rest", 8), ("z0", 96), ("z1", 96)]
            .map(|(name, count)| builder.tensor(self.like_x(name, &[count])));
        let counter = builder.tensor(index("i1"));
        push(&mut builder, "RESHAPE", &[X], &[flat], &json!({"constants": {"1": ints(&[64])}}));
        // LiteRT wants the value quantised as what it fills.
        let quantization = self.quantization[0].as_ref().map(Quantization::to_json);
        let value =
            json!({"shape": [], "dtype": self.dtype.name(), "fill": self.zero, "quantization": quantization});
        for (tensor, count) in [(gap, 24), (rest, 8)] {
            let constants = json!({"constants": {"0": ints(&[count]), "1": value}});
            push(&mut builder, "FILL", &[], &[tensor], &constants);
        }
        push(&mut builder, "CONCATENATION", &[gap, flat, rest], &[before], &json!({"axis": 0}));
        let options = json!({"bodies": [1, 2], "constants": {"0": ints(&[0])}});
        push(&mut builder, "WHILE", &[before], &[counter, after], &options);
        push(&mut builder, "RESHAPE", &[after], &[Y], &json!({"new_shape": [1, 8, 4, 3]}));
        builder.output(Y);
        builder.build().unwrap()
    }

    fn condition(&self) -> Graph {
        let mut builder = GraphBuilder::new("condition");
        let [i, _] = self.state(&mut builder);
        let goes_on = builder.tensor(tensor("goes on", &[1], &ElementType::Bool, None));
        push(&mut builder, "LESS", &[i], &[goes_on], &json!({"constants": {"1": ints(&[4])}}));
        builder.output(goes_on);
        builder.build_body().unwrap()
    }

    fn body(&self, old: &Graph) -> Graph {
        let mut builder = GraphBuilder::new("body");
        let [i, z] = self.state(&mut builder);
        let [begin, to, next] = ["begin", "to", "next"].map(|name| builder.tensor(index(name)));
        let rows = builder.tensor(self.like_x("rows", &[16]));
        let image = builder.tensor(self.like_x("image", &[1, 2, 4, 2]));
        let padded = builder.tensor(self.like_x("padded", &[1, 2, 6, 2]));
        let [a, y] = ["a", "y"].map(|name| builder.tensor(self.like_y(name, &[1, 2, 4, 3])));
        let made = builder.tensor(self.like_x("made", &[24]));
        let state = builder.tensor(self.like_x("state", &[96]));
        let by_table = |table: &[i64]| json!({"constants": {"0": ints(table), "2": ints(&[1])}});
        push(&mut builder, "SLICE", &[i], &[begin], &by_table(&[24, 40, 56, 72]));
        push(&mut builder, "SLICE", &[z, begin], &[rows], &json!({"constants": {"2": ints(&[16])}}));
        let shape = json!({"new_shape": [1, 2, 4, 2], "constants": {"1": ints(&[1, 2, 4, 2])}});
        push(&mut builder, "RESHAPE", &[rows], &[image], &shape);
        let paddings = json!({"shape": [4, 2], "dtype": "int32", "values": [0, 0, 0, 0, 1, 1, 0, 0]});
        push(&mut builder, "PAD", &[image], &[padded], &json!({"constants": {"1": paddings}}));
        let mut convolution = old.op(OpId(0)).clone();
        convolution.attributes.insert("padding".to_owned(), json!("valid"));
        builder.push_op(Op { inputs: vec![padded], outputs: vec![a], ..convolution });
        builder.push_op(Op { inputs: vec![a], outputs: vec![y], ..old.op(OpId(1)).clone() });
        push(&mut builder, "RESHAPE", &[y], &[made], &json!({"constants": {"1": ints(&[24])}}));
        push(&mut builder, "SLICE", &[i], &[to], &by_table(&[0, 24, 48, 72]));
        push(&mut builder, "DYNAMIC_UPDATE_SLICE", &[z, made, to], &[state], &json!({}));
        push(&mut builder, "SLICE", &[i], &[next], &by_table(&[1, 2, 3, 4]));
        builder.output(next);
        builder.output(state);
        builder.build_body().unwrap()
    }

    fn state(&self, builder: &mut GraphBuilder) -> [TensorId; 2] {
        [builder.input(index("i")), builder.input(self.like_x("z", &[96]))]
    }
}

fn read(bytes: Vec<u8>) -> Arc<dyn ModelFile> {
    Format::TfLite.read(bytes, &ReadOptions::default()).unwrap()
}

fn push(builder: &mut GraphBuilder, kind: &str, inputs: &[TensorId], outputs: &[TensorId], options: &Value) {
    builder.push_op(Op {
        name: String::new(),
        kind: OpKind::new(kind),
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        attributes: object(options),
        extra: Attributes::new(),
    });
}

fn ints(values: &[i64]) -> Value {
    json!({"shape": [values.len()], "dtype": "int32", "values": values})
}

fn index(name: &str) -> Tensor {
    tensor(name, &[1], &ElementType::Int32, None)
}

#[test]
fn the_file_holds_the_loop_and_each_constant_once() {
    let file = int8().file();
    let looped = int8().looped(file.as_ref());
    let written = file.looped(&looped).unwrap();
    let [main, condition, body] = written.graphs() else { panic!("{:?}", written.graphs()) };
    for (graph, asked) in written.graphs().iter().zip(&looped.graphs) {
        assert!(graph.computes_as(asked));
        assert_eq!(graph.name(), asked.name());
        // Tensors that exist as stripes only give their places to new ones.
        assert!(graph.tensors().len() <= asked.tensors().len());
    }
    assert_eq!(main.op(OpId(4)).bodies().collect::<Vec<_>>(), [1, 2]);
    assert!(main.tensors().iter().all(|tensor| tensor.bytes > 0));
    assert_eq!(condition.op(OpId(0)).constant(1).unwrap().values(), Some(vec![4]));
    assert_eq!(body.op(OpId(4)).word("padding"), Some("valid"));
    let [before, after] = [&file.graphs()[0].op(OpId(0)), &body.op(OpId(4))];
    assert_eq!(before.attributes["constants"], after.attributes["constants"]);

    let model = serenity_tflite::Model::parse(written.bytes().into_owned()).unwrap();
    let constants = |sub_graph: usize| {
        let graph = &model.sub_graphs()[sub_graph];
        (0..graph.tensors().len()).filter(|&tensor| model.constant(sub_graph, tensor).is_some()).count()
    };
    // Three sizes, what to fill with, and 0: the weights have left the main graph. In the body: three tables, two
    // sizes, two shapes, paddings, the weights.
    assert_eq!([0, 1, 2].map(constants), [5, 1, 3 + 2 + 2 + 1 + 2]);
    let old = serenity_tflite::Model::parse(file.bytes().into_owned()).unwrap();
    // The size 24 is in two sub-graphs, the weights are in two, and all lie in the file once.
    let new: Vec<&[u8]> =
        (old.buffer_count()..model.buffer_count()).map(|number| model.buffer(number)).collect();
    assert_eq!(new.len(), 5 + 1 + (3 + 2 + 1 + 1));
    assert!(new.contains(&[24, 0, 0, 0].as_slice()));
    assert!((1..new.len()).all(|number| !new[..number].contains(&new[number])), "{new:?}");
}

#[test]
fn a_plan_for_the_old_tensors_is_gone() {
    let file = int8().file();
    let places = vec![vec![Some(0), Some(64), Some(160)]];
    let order = file.graphs()[0].file_order();
    let planned = read(file.planned(&[&order], Some(&places), None).unwrap());
    assert_eq!(planned.places(), Some(places));
    let written = planned.looped(&int8().looped(planned.as_ref())).unwrap();
    assert_eq!(written.places(), None);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let file = int8().file();
    let asked = int8().looped(file.as_ref());
    let error = GraphFile::from(asked.graphs[0].clone()).looped(&asked).unwrap_err();
    assert_eq!(error.to_string(), "cannot hold loops: only a `.tflite` model can");
    let of_another = Looped { graphs: Vec::new(), origins: Vec::new() };
    assert!(file.looped(&of_another).unwrap_err().to_string().contains("of another model"));
    let elsewhere = Looped { origins: vec![vec![], vec![], vec![Some(OpId(7))]], ..asked.clone() };
    assert!(file.looped(&elsewhere).unwrap_err().to_string().contains("which is not there"));
    let less = Looped { graphs: asked.graphs[..2].to_vec(), origins: asked.origins[..2].to_vec() };
    assert!(file.looped(&less).is_err());
}

/// The file with a plan in which no two tensors share a byte.
fn planned(file: &dyn ModelFile) -> Arc<dyn ModelFile> {
    let mut end = 0;
    let mut place = |graph: &Graph, id: TensorId| {
        let start = end;
        end += graph.tensor(id).bytes.next_multiple_of(16);
        Some(start)
    };
    let places: Vec<Vec<Option<u64>>> =
        file.graphs().iter().map(|graph| graph.tensor_ids().map(|id| place(graph, id)).collect()).collect();
    let orders: Vec<Vec<OpId>> = file.graphs().iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let planned = read(file.planned(&orders, Some(&places), None).unwrap());
    assert_eq!(planned.places(), Some(places));
    planned
}

#[test]
fn the_runtimes_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for numbers in [int8(), float()] {
        let file = numbers.file();
        let written = file.looped(&numbers.looped(file.as_ref())).unwrap();
        let [old, new, at_fixed_places] = ["old", "new", "planned"]
            .map(|name| folder.path().join(format!("{}-{name}.tflite", numbers.dtype.name())));
        std::fs::write(&old, file.bytes()).unwrap();
        std::fs::write(&new, written.bytes()).unwrap();
        std::fs::write(&at_fixed_places, planned(written.as_ref()).bytes()).unwrap();
        before.extend([old.clone(), old]);
        after.extend([new, at_fixed_places]);
    }
    let inputs = Inputs { runs: 4, seed: 1 };
    for engine in [Engine::Tflm, Engine::LiteRtReference, Engine::LiteRt] {
        let Some(verdicts) = serenity_judges::rewritten_tflite(engine, &before, &after, &inputs) else {
            return;
        };
        for (path, verdict) in after.iter().zip(&verdicts) {
            let is_same = matches!(verdict.accepted(), Rewritten::Compared { identical: true, .. });
            assert!(is_same, "{engine:?}, {}: {verdict:?}", path.display());
        }
    }
}
