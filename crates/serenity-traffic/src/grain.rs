//! What moves as one.

/// Bytes in a page.
pub const PAGE: u64 = 1024;

/// What moves as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Whole buffers move.
    #[default]
    Tensor,
    /// Pages of [`PAGE`] bytes.
    Page,
}

serenity_search::named! { "grain": Grain { "tensor" => Tensor, "page" => Page } }

impl Grain {
    /// Bytes in one unit.
    pub(crate) fn unit(self) -> u64 {
        match self {
            Self::Tensor => 1,
            Self::Page => PAGE,
        }
    }
}
