//! Shape inference: what every tensor is before the model runs.
//!
//! One walk over the nodes in the file's order. Each node asks the rule of its operator, which sees types, shapes and,
//! for small tensors, values (a reshape needs the numbers that a chain of `Shape`, `Gather` and `Concat` computes). A
//! rule that cannot tell says nothing, and what the file declares fills the gap; a rule that can tell outranks the
//! file, as it does in the runtimes. Nothing here fails: what cannot be known stays unknown.

mod attention;
mod call;
mod contrib;
mod control;
mod elementwise;
mod indexing;
mod layout;
mod loading;
mod nchwc;
mod product;
mod recurrent;
mod reduce;
mod resize;
mod signal;
mod table;
mod values;
mod window;

pub(crate) use call::Call;
pub(crate) use loading::Open;
pub(crate) use window::Padding;

use crate::data_type::DataType;
use crate::fact::Fact;
use crate::proto::{Graph, Node, ValueInfo, is_standard};
use nchwc::Blocks;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What an operator says of its outputs.
type Rule = fn(&Call<'_, '_>) -> Option<Vec<Fact>>;

/// What holds for the whole model.
pub(crate) struct Settings<'a, 's> {
    /// Version of the standard operators.
    pub(crate) opset: i64,
    /// Domain and name of functions that the model defines itself: they hide standard operators of the same name.
    pub(crate) functions: &'s HashSet<(&'a str, &'a str)>,
    /// Shapes given by the caller, by tensor.
    pub(crate) shapes: &'s BTreeMap<String, Vec<u64>>,
    /// Element types given by the caller, by tensor.
    pub(crate) types: &'s BTreeMap<String, DataType>,
    /// To find out what a runtime knows that loads the file: what is left open in it, instead of what callers give.
    pub(crate) open: Option<&'s Open<'a>>,
}

impl<'a> Settings<'a, '_> {
    fn declared(&self, info: &ValueInfo<'a>) -> Fact {
        self.open.map_or_else(|| info.fact(), |open| open.declared(info))
    }
}

/// The facts of one graph, and those of the graphs around it.
pub(crate) struct Scope<'a, 'p> {
    facts: HashMap<&'a str, Fact>,
    blocks: Blocks<'a>,
    outer: Option<&'p Scope<'a, 'p>>,
}

impl<'a, 'p> Scope<'a, 'p> {
    /// What is known of a tensor; `None` if there is no tensor of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Fact> {
        let mut scope = self;
        loop {
            match (scope.facts.get(name), scope.outer) {
                (Some(fact), _) => return Some(fact),
                (None, Some(outer)) => scope = outer,
                (None, None) => return None,
            }
        }
    }

    /// Infers a whole graph. `arguments` are the facts of its inputs, as far as the caller knows them.
    pub(crate) fn infer(
        graph: &Graph<'a>,
        arguments: &[Fact],
        outer: Option<&'p Scope<'a, 'p>>,
        settings: &Settings<'a, '_>,
    ) -> Self {
        let mut scope = Self { facts: HashMap::new(), blocks: Blocks::of(graph), outer };
        for (index, input) in graph.inputs.iter().enumerate() {
            let given = arguments.get(index).cloned().unwrap_or_default();
            scope.facts.insert(input.name, given.or(settings.declared(input)));
        }
        for tensor in &graph.initializers {
            let mut fact = tensor.fact();
            if settings.open.is_some_and(|open| !open.is_constant(tensor.name)) {
                fact.values = None;
            }
            scope.facts.insert(tensor.name, fact);
        }
        if outer.is_none() {
            scope.apply_given_shapes(settings, graph.inputs.iter().map(|i| i.name));
        }
        let mut declared: HashMap<&str, Fact> = HashMap::new();
        for info in graph.value_info.iter().chain(&graph.outputs) {
            let known = declared.remove(info.name).unwrap_or_default();
            declared.insert(info.name, known.or(settings.declared(info)));
        }
        for node in &graph.nodes {
            let inferred = infer_node(node, &scope, settings);
            for (&name, fact) in
                node.outputs.iter().zip(inferred.into_iter().chain(std::iter::repeat_with(Fact::default)))
            {
                let said = declared.get(name).cloned().unwrap_or_default();
                let fact = match settings.open {
                    Some(open) => open.merged(fact, said),
                    None => fact.or(said),
                };
                scope.facts.insert(name, fact);
            }
            if outer.is_none() {
                scope.apply_given_shapes(settings, node.outputs.iter().copied());
            }
        }
        scope
    }

    fn apply_given_shapes(&mut self, settings: &Settings<'a, '_>, names: impl Iterator<Item = &'a str>) {
        // A runtime that loads the file does not know them.
        if settings.open.is_some() || (settings.shapes.is_empty() && settings.types.is_empty()) {
            return;
        }
        for name in names {
            let Some(fact) = self.facts.get_mut(name) else { continue };
            if let Some(shape) = settings.shapes.get(name)
                && fact.shape.is_none()
            {
                *fact = Fact::of(fact.data_type, Some(shape.clone()));
            }
            if let Some(&data_type) = settings.types.get(name)
                && fact.data_type.is_none()
            {
                fact.data_type = Some(data_type);
            }
        }
    }
}

/// Is this one of the operators of ONNX Runtime's own that are known here?
pub(crate) fn is_of_runtime(node: &Node<'_>) -> bool {
    contrib::rule(node.domain, node.op_type).is_some() || nchwc::knows(node.domain, node.op_type)
}

fn infer_node<'a>(node: &Node<'a>, scope: &Scope<'a, '_>, settings: &Settings<'a, '_>) -> Vec<Fact> {
    let is_known = is_standard(node.domain) || is_of_runtime(node);
    if !is_known || settings.functions.contains(&(node.domain, node.op_type)) {
        return Vec::new();
    }
    if node.bodies().next().is_some() {
        return control::infer(node, scope, settings).unwrap_or_default();
    }
    let call = Call::new(node, scope, settings.opset);
    if node.domain == nchwc::DOMAIN {
        return nchwc::infer(&call, &scope.blocks).unwrap_or_default();
    }
    if let Some(rule) = contrib::rule(node.domain, node.op_type) {
        return rule(&call).unwrap_or_default();
    }
    if let Some(open) = settings.open {
        return open.infer(&call);
    }
    let mut facts = table::infer(&call).unwrap_or_default();
    if let [first, ..] = facts.as_mut_slice()
        && first.values.is_none()
    {
        let values = values::evaluate(&call, first);
        *first = std::mem::take(first).with_values(values);
    }
    facts
}
