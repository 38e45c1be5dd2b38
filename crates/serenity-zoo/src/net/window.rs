//! The geometry of convolutions and pools.

use serde_json::{Value, json};
use serenity_ir::{Attributes, Padding, Slide};

/// What a convolution or a pool looks at: height first, then width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) kernel: [u64; 2],
    pub(crate) stride: [u64; 2],
    pub(crate) dilation: [u64; 2],
    /// As `TFLite` defines them: `same` keeps `ceil(size / stride)` positions, `valid` only those that lie inside.
    pub(crate) same_padding: bool,
}

impl Window {
    /// A square window that moves by one and keeps the size.
    pub(crate) const fn square(size: u64) -> Self {
        Self::of([size, size])
    }

    /// A window that moves by one and keeps the size.
    pub(crate) const fn of(kernel: [u64; 2]) -> Self {
        Self { kernel, stride: [1, 1], dilation: [1, 1], same_padding: true }
    }

    pub(crate) const fn stride(self, stride: u64) -> Self {
        Self { stride: [stride, stride], ..self }
    }

    pub(crate) const fn valid(self) -> Self {
        Self { same_padding: false, ..self }
    }

    /// Height and width of what comes out.
    pub(crate) fn output_size(&self, height: u64, width: u64) -> [u64; 2] {
        [self.along(0, height), self.along(1, width)]
            .map(|slide| slide.map_or(1, |slide| slide.output as u64))
    }

    /// Its way over rows (axis 0) or columns (axis 1). Where it is larger than what it looks at, it
    /// has one place all the same.
    pub(crate) fn along(&self, axis: usize, size: u64) -> Option<Slide> {
        let window = serenity_ir::Window::new(self.kernel[axis], self.stride[axis], self.dilation[axis])?;
        let padding = if self.same_padding { Padding::Same } else { Padding::Valid };
        let size = i64::try_from(size).ok()?;
        window.along(size, padding).or_else(|| {
            let after = window.missing(size, 1)?;
            window.along(size, Padding::Explicit { before: 0, after })
        })
    }

    /// Adds the geometry to an op's attributes, but for the dilation, which pools do not have.
    pub(crate) fn describe(&self, attributes: &mut Attributes) {
        let mut set = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        set("kernel", json!(self.kernel));
        set("stride", json!(self.stride));
        set("padding", json!(if self.same_padding { "same" } else { "valid" }));
    }

    /// The geometry that the attributes of an op describe; what they leave out is as in [`square(1)`](Self::square).
    pub(crate) fn of_attributes(attributes: &Attributes) -> Self {
        let pair = |name: &str| {
            let sides = attributes.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            [0, 1].map(|axis| sides.get(axis).and_then(Value::as_u64).unwrap_or(1))
        };
        let same_padding = attributes.get("padding").is_none_or(|padding| padding != "valid");
        Self { kernel: pair("kernel"), stride: pair("stride"), dilation: pair("dilation"), same_padding }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let window = Window { dilation: [1, 1], stride: [2, 1], ..Window::of([7, 1]).valid() };
        let mut attributes = serenity_ir::Attributes::new();
        window.describe(&mut attributes);
        assert_eq!(Window::of_attributes(&attributes), window);
    }

    #[test]
    fn sizes_are_those_of_tflite() {
        let window = Window::square(3).stride(2);
        assert_eq!(window.output_size(224, 7), [112, 4]);
        assert_eq!(window.valid().output_size(224, 7), [111, 3]);
        assert_eq!(Window { dilation: [2, 2], ..Window::square(3).valid() }.output_size(9, 5), [5, 1]);
        assert_eq!(Window::square(1).stride(2).output_size(5, 6), [3, 3]);
    }
}
