//! A model for TFLM whose tensors lie where the plan says, without a plan in its file.
//!
//! TFLM asks a memory planner for one buffer after the other, always in the same order, with its size and the steps
//! between which it is used. The answers may be anywhere: they are offsets that nobody checks against the arena.

use crate::planned::Divided;
use serenity::{Input, Optimized};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_runtimes::{Content, Kernels, MemoryModel, MemoryModelExt, Tail, TflmFacts, tflm_arena};
use std::collections::BTreeMap;

/// A model for TFLM.
pub struct TflmModel {
    /// The model, in the order of its plan, without places.
    pub file: Vec<u8>,
    /// What TFLM asks for, in its order.
    pub requests: Vec<Request>,
    /// Bytes of what it asks for, if all lies in one memory.
    pub head: u64,
    /// What TFLM keeps, and what it notes while it prepares.
    pub tail: Tail,
}

/// One buffer that TFLM asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its size in bytes.
    pub bytes: u64,
    /// The first step that uses it, by TFLM's count.
    pub first: i64,
    /// The last step that uses it.
    pub last: i64,
    /// Its offset, if all lies in one memory.
    offset: u64,
    content: Content,
}

impl TflmModel {
    /// `None` if the sizes of the model are not known.
    pub(crate) fn new(found: &Optimized, kernels: Kernels) -> Result<Option<Self>, serenity::Error> {
        let (model, plan) = (&found.model, &found.plan);
        let in_file = |source| serenity::pipeline::Error::File { path: model.name.clone(), source };
        let file = model.file.planned(&plan.orders(), None, None).map_err(in_file)?;
        let graphs: Vec<&Graph> = model.graphs().iter().collect();
        let orders: Vec<&[OpId]> = plan.orders();
        let asked = MemoryModel::Tflm(kernels).placement_problem(&graphs, &orders);
        let facts = TflmFacts::new(&graphs, kernels);
        let placed = tflm_arena(&facts, &orders, plan.offsets.as_ref());
        let (Some(asked), Some(placed), Some(tail)) = (asked, placed, Input::tail(model, plan.model)) else {
            return Ok(None);
        };
        let mut offsets = ByContent::new(placed.pieces.iter().map(|piece| (piece.content, piece.offset)));
        let requests = asked.problem.buffers().iter().zip(&asked.contents);
        let requests: Option<Vec<Request>> = requests
            .map(|(buffer, &content)| {
                let (bytes, first, last) = (buffer.size, buffer.lower, buffer.upper - 1);
                Some(Request { bytes, first, last, offset: offsets.next(content)?, content })
            })
            .collect();
        Ok(requests.map(|requests| Self { file, requests, head: placed.bytes, tail }))
    }

    /// The place of a tensor of the main graph: the part of the arena, and the offset in it. `None` if TFLM does not ask for one.
    pub(crate) fn place(&self, tensor: TensorId, divided: Option<&Divided>) -> Option<(usize, u64)> {
        let is_it = |content: &Content| *content == Content::Tensor { graph: 0, tensor };
        let request = self.requests.iter().find(|request| is_it(&request.content))?;
        match divided {
            None => Some((0, request.offset)),
            Some(divided) => {
                divided.of_contents.iter().find(|(content, _)| is_it(content)).map(|(_, place)| *place)
            }
        }
    }

    /// The place of each request: the part of the arena, and the offset in it.
    pub(crate) fn places(&self, divided: Option<&Divided>) -> Vec<(usize, u64)> {
        let Some(divided) = divided else {
            return self.requests.iter().map(|request| (0, request.offset)).collect();
        };
        let mut places = ByContent::new(divided.of_contents.iter().copied());
        // What is never used lies anywhere.
        self.requests.iter().map(|request| places.next(request.content).unwrap_or_default()).collect()
    }
}

/// Places by what lies there; an operator may have several pieces of scratch, in the order in which it asks for them.
struct ByContent<T>(BTreeMap<Content, std::vec::IntoIter<T>>);

impl<T> ByContent<T> {
    fn new(places: impl IntoIterator<Item = (Content, T)>) -> Self {
        let mut by_content: BTreeMap<Content, Vec<T>> = BTreeMap::new();
        for (content, place) in places {
            by_content.entry(content).or_default().push(place);
        }
        Self(by_content.into_iter().map(|(content, places)| (content, places.into_iter())).collect())
    }

    fn next(&mut self, content: Content) -> Option<T> {
        self.0.get_mut(&content)?.next()
    }
}
