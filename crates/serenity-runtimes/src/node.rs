//! An operator as its kernel sees it: operands by position, whether activations of the graph or constants of the model.

use serde_json::{Map, Value};
use serenity_ir::{ElementType, Graph, Op, OpId, Tensor};

/// An operator with its graph.
pub(super) struct Node<'g> {
    graph: &'g Graph,
    op: &'g Op,
}

/// What is known of one operand or result.
pub(super) struct Operand {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: Option<ElementType>,
}

impl<'g> Node<'g> {
    pub(super) fn new(graph: &'g Graph, op: OpId) -> Self {
        Self { graph, op: graph.op(op) }
    }

    pub(super) fn kind(&self) -> &'g str {
        self.op.kind.as_str()
    }

    /// The operand at a position of the model's list; `None` if there is none, or if its shape is not known.
    pub(super) fn operand(&self, position: usize) -> Option<Operand> {
        if let Some(constant) = self.constants().and_then(|all| all.get(&position.to_string())) {
            return Operand::of_constant(constant);
        }
        let absent = self.absent();
        if absent.clone().any(|place| place == position) {
            return None;
        }
        // The op's own list leaves out constants and absent operands.
        let constants = self.constants().into_iter().flat_map(Map::keys).filter_map(|key| key.parse().ok());
        let left_out = constants.chain(absent).filter(|&place: &usize| place < position).count();
        let tensor = *self.op.inputs.get(position.checked_sub(left_out)?)?;
        Operand::of_tensor(self.graph.tensor(tensor))
    }

    /// How many operands there are, constants included.
    pub(super) fn operand_count(&self) -> u64 {
        let count = self.op.inputs.len() + self.constants().map_or(0, Map::len);
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// A result; `None` if there is none, or if its shape is not known.
    pub(super) fn result(&self, position: usize) -> Option<Operand> {
        let tensor = *self.op.outputs.get(position)?;
        Operand::of_tensor(self.graph.tensor(tensor))
    }

    /// Height and width of the window: the attribute, or what the filter (operand 1) has as its middle dimensions.
    pub(super) fn kernel(&self) -> Option<[u64; 2]> {
        self.pair("kernel").or_else(|| {
            let [_, height, width, _] = self.operand(1)?.dims()?;
            Some([height, width])
        })
    }

    /// An attribute of two numbers, height first.
    pub(super) fn pair(&self, name: &str) -> Option<[u64; 2]> {
        match self.op.attributes.get(name)?.as_array()?.as_slice() {
            [height, width] => Some([height.as_u64()?, width.as_u64()?]),
            _ => None,
        }
    }

    /// An attribute that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.op.attributes.get(name)?.as_u64()
    }

    /// An attribute that is true or false; false if absent, as in the file format.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.op.attributes.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn constants(&self) -> Option<&'g Map<String, Value>> {
        self.op.attributes.get("constants")?.as_object()
    }

    fn absent(&self) -> impl Iterator<Item = usize> + Clone + use<'g> {
        let places = self.op.attributes.get("absent").and_then(Value::as_array);
        places.into_iter().flatten().filter_map(|place| usize::try_from(place.as_u64()?).ok())
    }
}

impl Operand {
    fn of_tensor(tensor: &Tensor) -> Option<Self> {
        Some(Self { shape: tensor.shape.clone()?, dtype: tensor.dtype.clone() })
    }

    fn of_constant(constant: &Value) -> Option<Self> {
        let shape = constant.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
        let dtype = constant.get("dtype").and_then(Value::as_str).map(ElementType::parse);
        Some(Self { shape, dtype })
    }

    /// Its dimensions, if there are just as many.
    pub(super) fn dims<const RANK: usize>(&self) -> Option<[u64; RANK]> {
        self.shape.as_slice().try_into().ok()
    }

    /// The last dimension.
    pub(super) fn depth(&self) -> Option<u64> {
        self.shape.last().copied()
    }

    /// The number of dimensions.
    pub(super) fn rank(&self) -> u64 {
        u64::try_from(self.shape.len()).unwrap_or(u64::MAX)
    }

    /// The number of elements.
    pub(super) fn elements(&self) -> Option<u64> {
        product(&self.shape)
    }

    pub(super) fn is(&self, dtype: &ElementType) -> bool {
        self.dtype.as_ref() == Some(dtype)
    }
}

/// The product, if it is one that kernels can reckon with: they count in `int`.
pub(super) fn product(factors: &[u64]) -> Option<u64> {
    let product = factors.iter().try_fold(1_u64, |product, &factor| product.checked_mul(factor))?;
    i32::try_from(product).is_ok().then_some(product)
}
