//! A page about the memories of a device: which model lies where, and when.

use crate::page::{head, style_sheet};
use crate::svg::{Anchor, Svg, escaped};
use crate::theme::text_width;
use crate::{Table, grouped};
use std::fmt::Write;
use std::ops::Range;

/// A device, its memories and what lies in them.
#[derive(Clone, Debug, Default)]
pub struct DevicePage {
    /// The name of the device.
    pub title: String,
    /// Names and values.
    pub facts: Vec<(String, String)>,
    /// Static memory if each model were alone.
    pub apart: u64,
    /// Static memory in all.
    pub ram: u64,
    /// What is proved.
    pub proof: String,
    /// One picture each.
    pub memories: Vec<MemoryPicture>,
    /// The bytes touched in each of several memories, beside what other placements would touch.
    pub touched: Table,
    /// The sizes that the pictures show, as a table.
    pub table: Table,
}

/// A memory over the moments of a round.
#[derive(Clone, Debug, Default)]
pub struct MemoryPicture {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes that are used.
    pub used: u64,
    /// What runs, moment by moment.
    pub moments: Vec<String>,
    /// What lies in it.
    pub blocks: Vec<Block>,
}

/// Bytes that hold something for a while.
#[derive(Clone, Debug)]
pub struct Block {
    /// What lies there.
    pub name: String,
    /// Which kind of thing it is.
    pub kind: BlockKind,
    /// Its bytes.
    pub bytes: Range<u64>,
    /// When, in moments: 1.5 is between the second and the third.
    pub moments: Range<f64>,
}

/// What bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The tensors of a model.
    Arena,
    /// An output that becomes an input.
    Handed,
    /// What is kept from one run to the next.
    State,
}

impl BlockKind {
    fn class(self) -> &'static str {
        match self {
            Self::Arena => "s1",
            Self::Handed => "s3",
            Self::State => "s0",
        }
    }
}

const LEFT: f64 = 74.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 30.0;
const HEIGHT: f64 = 240.0;
/// The least width of a moment, and of all.
const COLUMN: f64 = 64.0;
const PLOT: f64 = 420.0;

impl MemoryPicture {
    /// The picture: time from left to right, bytes upwards.
    pub fn to_svg(&self) -> String {
        let labels = self.moments.iter().map(|name| text_width(name) + 10.0);
        let column = labels.fold(COLUMN, f64::max).max(PLOT / self.moments.len().max(1) as f64);
        let right = LEFT + column * self.moments.len() as f64;
        let subtitle = format!("{} of {} bytes used", grouped(self.used.into()), grouped(self.size.into()));
        let mut svg = Svg::new(right + RIGHT, TOP + HEIGHT + BOTTOM, &self.name, &subtitle);
        svg.text((14.0, 24.0), Anchor::Start, "title", &self.name);
        svg.text((14.0, 42.0), Anchor::Start, "soft", &subtitle);
        let most = self.used.max(1) as f64;
        let y = |bytes: u64| TOP + HEIGHT - HEIGHT * bytes as f64 / most;
        for mark in [0, self.used / 2, self.used] {
            svg.line([LEFT, y(mark), right, y(mark)], "grid");
            svg.text((LEFT - 8.0, y(mark) + 4.0), Anchor::End, "soft", &grouped(mark.into()));
        }
        for Block { name, kind, bytes, moments } in &self.blocks {
            let [x0, x1] = [moments.start, moments.end].map(|moment| LEFT + column * moment);
            let [top, height] = [y(bytes.end), y(bytes.start) - y(bytes.end)];
            let tip = format!(
                "{name}: {} bytes at {}",
                grouped((bytes.end - bytes.start).into()),
                grouped(bytes.start.into())
            );
            svg.rect([x0 + 1.0, top, (x1 - x0 - 2.0).max(2.0), height.max(1.0)], kind.class(), &tip);
            if height >= 16.0 && text_width(name) <= x1 - x0 {
                svg.text((f64::midpoint(x0, x1), top + height / 2.0 + 4.0), Anchor::Middle, "small", name);
            }
        }
        for (moment, name) in self.moments.iter().enumerate() {
            let x = LEFT + column * (moment as f64 + 0.5);
            svg.text((x, TOP + HEIGHT + 18.0), Anchor::Middle, "", name);
        }
        svg.finish()
    }
}

impl DevicePage {
    /// The page as one file, which loads nothing.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let [apart, ram] = [self.apart, self.ram].map(|bytes| grouped(bytes.into()));
        let mut html = head(&format!("{title}: {ram} bytes"), &format!("{}{STYLE}", style_sheet()));
        let _ = write!(
            html,
            "<header><p class=\"brand\">Serenity <span>device</span></p></header>\n<main>\n<section class=\"first\">\n<h1>{title}</h1>\n<ul class=\"facts\">"
        );
        for (name, value) in &self.facts {
            let _ = write!(html, "<li><span>{}</span> {}</li>", escaped(name), escaped(value));
        }
        let _ = write!(
            html,
            "</ul>\n<p class=\"big\"><span class=\"new\">{ram}<small>\u{a0}bytes</small></span></p>\n\
             <p class=\"counts\">of static RAM for all; {apart} bytes if each model had memory of its own. {}</p>\n</section>\n\
             <section aria-labelledby=\"memories\"><h2 id=\"memories\">Memories</h2>\n<p class=\"about\">Time runs from left to right, addresses upwards. \
             Blue: the tensors of a model. Orange: an output that becomes an input. Grey: what is kept from one run to the next.</p>\n",
            escaped(&self.proof)
        );
        for memory in &self.memories {
            let _ = writeln!(html, "<div class=\"memory\">{}</div>", memory.to_svg());
        }
        if !self.touched.rows().is_empty() {
            html.push_str(
                "</section>\n<section aria-labelledby=\"touched\"><h2 id=\"touched\">Bytes touched</h2>\n",
            );
            write_table(&self.touched, &mut html);
        }
        html.push_str("</section>\n<section aria-labelledby=\"places\"><h2 id=\"places\">Places</h2>\n");
        write_table(&self.table, &mut html);
        html.push_str("</section>\n</main>\n</body>\n</html>\n");
        html
    }
}

fn write_table(table: &Table, html: &mut String) {
    html.push_str("<div class=\"memory\"><table><thead><tr>");
    for name in table.names() {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows() {
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{}</td>", escaped(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

const STYLE: &str = ".memory{overflow-x:auto;margin:0 0 1.2rem}.memory svg{display:block;max-width:none}\
    .memory table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
    .memory th,.memory td{text-align:right;padding:.25rem .8rem;border-bottom:1px solid var(--line);white-space:nowrap}\
    .memory th:first-child,.memory td:first-child{text-align:left}\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    fn page() -> DevicePage {
        let block = |name: &str, kind, bytes, moments| Block { name: name.to_owned(), kind, bytes, moments };
        let mut table = Table::titled("what | #bytes");
        table.push(["one <&>", "300"]);
        let mut touched = Table::titled("bytes touched | #<ram>");
        touched.push(["first <fit>", "7"]);
        DevicePage {
            title: "app <&>".to_owned(),
            facts: vec![("models".to_owned(), "2".to_owned())],
            apart: 500,
            ram: 316,
            proof: "Proved <least>.".to_owned(),
            memories: vec![MemoryPicture {
                name: "sram".to_owned(),
                size: 1024,
                used: 316,
                moments: vec!["one".to_owned(), "two, three".to_owned()],
                blocks: vec![
                    block("one <&>", BlockKind::Arena, 0..300, 0.0..1.0),
                    block("two", BlockKind::Arena, 0..200, 1.0..2.0),
                    block("one's 0", BlockKind::Handed, 200..220, 0.5..1.5),
                    block("state", BlockKind::State, 300..316, 0.0..2.0),
                ],
            }],
            touched,
            table,
        }
    }

    #[test]
    fn pictures_are_well_formed_and_say_what_lies_where() {
        let page = page();
        let svg = page.memories[0].to_svg();
        assert_well_formed(&svg);
        assert!(svg.contains("<title>one&#39;s 0: 20 bytes at 200</title>"), "{svg}");
        assert_eq!(svg.matches("<rect class=\"s1\"").count(), 2);
        MemoryPicture::default().to_svg();
    }

    #[test]
    fn the_page_loads_nothing_and_keeps_names_in_their_place() {
        let html = page().to_html();
        assert!(
            html.contains("<h1>app &lt;&amp;&gt;</h1>") && html.contains("<td>one &lt;&amp;&gt;</td>"),
            "{html}"
        );
        assert!(
            html.contains("<th scope=\"col\">&lt;ram&gt;</th>")
                && html.contains("<td>first &lt;fit&gt;</td>")
        );
        assert!(!DevicePage::default().to_html().contains("Bytes touched"), "one memory has no choice");
        assert!(html.contains("default-src 'none'") && !html.contains("<script"));
        assert!(!html.replace("http://www.w3.org/2000/svg", "").contains("://"), "{html}");
    }
}
