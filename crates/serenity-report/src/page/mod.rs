//! A page about one model, before and after, in a self-contained file.
//!
//! Takes a [`Page`]: the figures and sentences about a model. Returns one HTML file ([`Page::to_html`]) that opens from
//! disk, loads nothing over the network and includes all figures as JSON; and the pictures as SVG files
//! ([`Page::pictures`]).
//!
//! The pictures are drawn here: the script of the page only handles the mouse and the keyboard. So the page is complete
//! without it, and on paper.

mod arena;
mod colours;
mod data;
mod figures;
mod html;
mod layout;
mod memory;
mod network;
mod others;
mod plot;
mod sections;
mod size;

pub use data::*;
pub(crate) use html::head;
pub use html::style_sheet;
pub use size::Unit;

use crate::names::short_names;
use network::Network;
use plot::Plot;

/// So many characters of a name fit a node of the network, and a row of a table.
const SHORT_OP: usize = 24;
const SHORT_ITEM: usize = 34;

/// One side as it is drawn.
pub(crate) struct Drawn {
    /// The names of its ops, shortened.
    pub(crate) ops: Vec<String>,
    /// The names of its tensors, shortened.
    pub(crate) items: Vec<String>,
}

impl Drawn {
    fn new(side: &Side) -> Self {
        let ops: Vec<&str> = side.ops.iter().map(|op| op.name.as_str()).collect();
        let items: Vec<&str> = side.items.iter().map(|item| item.name.as_str()).collect();
        Self { ops: short_names(&ops, SHORT_OP), items: short_names(&items, SHORT_ITEM) }
    }
}

/// Everything that is drawn.
pub(crate) struct Pictures {
    pub(crate) names: [Drawn; 2],
    pub(crate) memory: [Plot; 2],
    pub(crate) arena: [Option<Plot>; 2],
    pub(crate) network: [Network; 2],
    pub(crate) traffic: Option<Plot>,
    pub(crate) orders: Option<Plot>,
}

impl Pictures {
    fn new(page: &Page) -> Self {
        let unit = page.headline.unit;
        let names = [0, 1].map(|side: usize| Drawn::new(&page.sides[side]));
        let peak = |side: &Side| side.peak;
        let memory_top = top(page, peak);
        let arena_top = top(page, arena::height);
        let most = page.sides.iter().map(peak).max().unwrap_or(0);
        let network = [0, 1].map(|side: usize| Network::new(&page.sides[side], &names[side], most, unit));
        Self {
            memory: [0, 1].map(|side: usize| memory::memory(&page.sides[side], side, memory_top, unit)),
            arena: [0, 1].map(|side: usize| arena::arena(&page.sides[side], side, arena_top, unit)),
            network,
            traffic: page.traffic.as_ref().map(|traffic| others::traffic(traffic, unit)),
            // Where all peak at the same height there is nothing to draw.
            orders: page
                .orders
                .as_ref()
                .filter(|orders| orders.peaks.len() > 1)
                .map(|orders| others::orders(orders, unit)),
            names,
        }
    }
}

/// The value at the upper edge of both sides: some air above what is highest, and above what the device leaves if that
/// is not far.
fn top(page: &Page, height: impl Fn(&Side) -> u64) -> u64 {
    let highest = page.sides.iter().map(height).max().unwrap_or(0).max(1);
    let room = page.sides.iter().filter_map(|side| side.room).max().unwrap_or(0);
    let highest = if room < highest.saturating_mul(2) { highest.max(room) } else { highest };
    highest.saturating_add(highest / 9)
}

impl Page {
    /// The sides to draw: one is enough if both need the same.
    pub(crate) fn drawn_sides(&self) -> std::ops::Range<usize> {
        usize::from(self.headline.gains_nothing())..2
    }

    /// The page as one file.
    pub fn to_html(&self) -> String {
        html::page(self, &Pictures::new(self))
    }

    /// The pictures of the page, each with a name for its file.
    pub fn pictures(&self) -> Vec<(&'static str, String)> {
        let drawn = Pictures::new(self);
        let mut files = vec![
            ("memory-before.svg", drawn.memory[0].to_svg()),
            ("memory-after.svg", drawn.memory[1].to_svg()),
        ];
        for (name, plot) in ["arena-before.svg", "arena-after.svg"].into_iter().zip(&drawn.arena) {
            files.extend(plot.as_ref().map(|plot| (name, plot.to_svg())));
        }
        files.push(("network-before.svg", drawn.network[0].to_svg(0)));
        files.push(("network-after.svg", drawn.network[1].to_svg(1)));
        files.extend(
            self.device
                .as_ref()
                .map(|device| ("device.svg", others::device(device, self.headline.unit).to_svg())),
        );
        files.extend(drawn.traffic.as_ref().map(|plot| ("traffic.svg", plot.to_svg())));
        files.extend(drawn.orders.as_ref().map(|plot| ("orders.svg", plot.to_svg())));
        files
    }
}

#[cfg(test)]
mod tests;
