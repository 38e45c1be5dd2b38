//! `TensorAnnotation`: which tensors say how a tensor is quantised.

use super::read_entry;
use crate::Error;
use crate::wire::{Content, Message};
use std::ops::Range;

/// A note on a tensor that names other tensors, such as its scale.
#[derive(Debug, Default)]
pub(crate) struct Annotation<'a> {
    pub(crate) tensor: &'a str,
    pub(crate) parameters: Vec<&'a str>,
    /// Tag, length and content, as a range of the file.
    pub(crate) record: Range<usize>,
}

impl<'a> Annotation<'a> {
    pub(super) fn read(message: Message<'a>) -> Result<Self, Error> {
        let mut annotation = Self::default();
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Bytes(name)) => annotation.tensor = name.text()?,
                (2, Content::Bytes(entry)) => annotation.parameters.push(read_entry(entry)?.1.text()?),
                _ => {}
            }
        }
        Ok(annotation)
    }
}
