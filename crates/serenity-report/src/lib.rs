//! Tables, charts and pages that need nothing but a browser.
//!
//! Takes rows of text and series of numbers. Returns Markdown and CSV ([`Table`]) and self-contained SVG ([`BarChart`],
//! [`LineChart`]) without scripts, fonts or links, in colours that the colour-blind can tell apart on light and dark
//! pages. [`page`] shows everything about one model in one HTML file, [`DevicePage`] the memories of a device.
//!
//! Guarantees: equal inputs give equal bytes on every machine; the result is well-formed for any text; numbers that
//! cannot be drawn (infinite, not a number, not positive on a logarithmic axis) are left out.
//!
//! ```
//! use serenity_report::{Axis, Bar, BarChart, BarSeries, Colour, Table};
//! let mut table = Table::titled("cell | #peak, KB");
//! table.push(["SwiftNet A", "200.7"]);
//! assert_eq!(table.to_csv(), "cell,\"peak, KB\"\nSwiftNet A,200.7\n");
//!
//! let chart = BarChart {
//!     title: "Peak memory".to_owned(),
//!     subtitle: String::new(),
//!     value_axis: Axis::linear("KB"),
//!     groups: vec!["SwiftNet A".to_owned()],
//!     series: vec![BarSeries::new("best order", Colour::Blue, vec![Bar::of(200.7)])],
//!     reference: None,
//! };
//! assert!(chart.to_svg().starts_with("<svg "));
//! ```

mod axis;
mod bars;
mod frame;
mod labels;
mod lines;
mod memories;
mod names;
mod number;
pub mod page;
pub mod printable;
pub mod size;
mod svg;
mod table;
#[cfg(test)]
mod testing;
mod theme;

pub use axis::{Axis, Scale};
pub use bars::{Bar, BarChart, BarSeries};
pub use labels::ShortLabels;
pub use lines::{Line, LineChart, Mark, Shape};
pub use memories::{Block, BlockKind, DevicePage, MemoryPicture};
pub use names::short_names;
pub use number::{grouped, significant};
pub use table::{Align, Column, Table};
pub use theme::Colour;
