//! The sections of the page below the first screen.

use super::colours::OWN_COLOURS;
use super::html::{code, is_over};
use super::others::binary;
use super::plot::Plot;
use super::{Page, Pictures, Remedy, Sections};
use crate::grouped;
use crate::svg::escaped;
use std::fmt::Write;

/// So many suggestions are in sight at once.
const SHOWN_REMEDIES: usize = 4;

/// Links to all sections that there are.
pub(crate) fn navigation(html: &mut String, page: &Page) {
    let links = [
        ("why", "Why", true),
        ("memory", "Memory", true),
        ("arena", "Arena", true),
        ("network", "Network", true),
        ("changes", "Changes", true),
        ("device", "Device", page.device.is_some()),
        ("traffic", "Traffic", page.traffic.is_some()),
        ("orders", "Orders", page.orders.is_some()),
        ("notes", "Notes", true),
    ];
    html.push_str("<nav aria-label=\"Sections\"><ul>");
    for (id, name, _) in links.into_iter().filter(|link| link.2) {
        let _ = write!(html, "<li><a href=\"#{id}\">{name}</a></li>");
    }
    html.push_str("</ul></nav>\n");
}

fn begin(html: &mut String, id: &str, title: &str, about: &str) {
    let _ = writeln!(
        html,
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n<p class=\"about\">{about}</p>"
    );
}

/// What sets the peak, and what would lower it.
pub(crate) fn advice(html: &mut String, page: &Page) {
    let title = if is_over(page) { "Why" } else { "Why, and what would lower it" };
    begin(html, "why", title, "");
    html.push_str("<ul class=\"reasons\">\n");
    // The first stands on the first screen.
    for why in page.headline.why.iter().skip(1) {
        let _ = writeln!(html, "<li>{}</li>", code(why));
    }
    html.push_str("</ul>\n");
    if !page.remedies.is_empty() && !is_over(page) {
        html.push_str("<h3>What else can be done</h3>\n");
        remedies(html, &page.remedies);
    }
    html.push_str("</section>\n");
}

/// Suggestions that can be typed, the first few in sight; then those that cannot.
pub(crate) fn remedies(html: &mut String, remedies: &[Remedy]) {
    let (typed, others): (Vec<&Remedy>, Vec<&Remedy>) =
        remedies.iter().partition(|remedy| remedy.command.is_some());
    let (shown, folded) = typed.split_at(typed.len().min(SHOWN_REMEDIES));
    html.push_str("<ol class=\"remedies\">\n");
    for remedy in shown {
        one_remedy(html, remedy);
    }
    html.push_str("</ol>\n");
    if !folded.is_empty() {
        let _ = writeln!(
            html,
            "<details><summary>{} more</summary>\n<ol class=\"remedies\" start=\"{}\">",
            folded.len(),
            shown.len() + 1
        );
        for remedy in folded {
            one_remedy(html, remedy);
        }
        html.push_str("</ol></details>\n");
    }
    for remedy in others {
        let _ = writeln!(html, "<p class=\"remedy\">{}</p>", code(&remedy.text));
    }
}

fn one_remedy(html: &mut String, remedy: &Remedy) {
    let _ = write!(html, "<li>{}", code(&remedy.text));
    let _ = match remedy.fits {
        Some(true) => write!(html, " <span class=\"tag good\">fits</span>"),
        Some(false) => write!(html, " <span class=\"tag bad\">not enough</span>"),
        None => Ok(()),
    };
    let command = remedy.command.as_deref().unwrap_or_default();
    let _ = writeln!(html, "<pre tabindex=\"0\">{}</pre></li>", escaped(command));
}

/// Memory over time.
pub(crate) fn memory(html: &mut String, page: &Page, pictures: &Pictures) {
    let once = if page.headline.gains_nothing() {
        "Nothing was gained, so each picture is drawn once: the model as it is now. "
    } else {
        ""
    };
    let about = format!(
        "{once}Bytes in use while each op runs, stacked by tensor. Point at a tensor to see what it is, click an op to see \
         all that is alive there, use the arrow keys to walk."
    );
    begin(html, "memory", "Memory over time", &about);
    tools(html, page);
    html.push_str("<div class=\"pair\">\n");
    for number in page.drawn_sides() {
        let (side, plot) = (&page.sides[number], &pictures.memory[number]);
        let peak = format!("peak {}", page.headline.unit.size(side.peak));
        figure(html, [name_of(page, number), &peak, &side.caption], number, Some(plot));
        legend(html, page, pictures, number, plot);
        lazy_table(html, "ops", number, "op by op");
        html.push_str("</figure>\n");
    }
    html.push_str("</div>\n</section>\n");
}

/// What the pictures of one side are called.
fn name_of(page: &Page, number: usize) -> &'static str {
    if page.headline.gains_nothing() { "Before and after" } else { ["Before", "After"][number] }
}

/// Who lies where.
pub(crate) fn arena(html: &mut String, page: &Page, pictures: &Pictures) {
    let about =
        "Every rectangle is a tensor: from left to right as long as it lives, upwards the bytes it lies in.";
    begin(html, "arena", "The arena", about);
    html.push_str("<div class=\"pair\">\n");
    for number in page.drawn_sides() {
        let (side, plot) = (&page.sides[number], &pictures.arena[number]);
        let high = page.headline.unit.size(side.arena.unwrap_or_else(|| super::arena::height(side)));
        figure(html, [name_of(page, number), &high, &side.about_places], number, plot.as_ref());
        if let Some(plot) = plot {
            legend(html, page, pictures, number, plot);
            lazy_table(html, "places", number, "place by place");
        }
        html.push_str("</figure>\n");
    }
    html.push_str("</div>\n</section>\n");
}

/// Buttons that the script brings to life.
fn tools(html: &mut String, page: &Page) {
    html.push_str("<div class=\"tools script\"><label><input type=\"checkbox\" id=\"only-peak\"> alive at the peak only</label>");
    if !page.headline.gains_nothing() {
        html.push_str("<label><input type=\"checkbox\" id=\"own-scale\"> each side in its own scale</label>");
    }
    html.push_str(
        "<span role=\"group\" aria-label=\"Zoom of memory and arena\"><button type=\"button\" data-zoom=\"in\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-zoom=\"out\" aria-label=\"Zoom out\">−</button>\
         <button type=\"button\" data-zoom=\"peak\">the peak</button><button type=\"button\" data-zoom=\"all\">the whole run</button></span></div>\n",
    );
}

fn figure(html: &mut String, [name, figure, caption]: [&str; 3], number: usize, plot: Option<&Plot>) {
    let _ = writeln!(
        html,
        "<figure class=\"side{number}\">\n<figcaption><b>{name}</b> <strong>{}</strong><span>{}</span></figcaption>",
        escaped(figure),
        code(caption)
    );
    if let Some(plot) = plot {
        html.push_str(&plot.to_html());
        html.push('\n');
    }
}

/// A little square of the colour of a class.
fn swatch(class: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"10\" height=\"10\"/></svg>"
    )
}

/// The key to the colours of a plot: only those that are in it.
fn legend(html: &mut String, page: &Page, pictures: &Pictures, number: usize, plot: &Plot) {
    let side = &page.sides[number];
    let colours = side.colours();
    let has = |class: &str| plot.body.contains(&format!("class=\"{class}"));
    let mut alive: Vec<usize> = (0..side.items.len()).filter(|&item| colours[item].is_some()).collect();
    alive.sort_by_key(|&item| colours[item]);
    html.push_str("<ul class=\"key\">\n<li class=\"more\">alive at the peak:</li>\n");
    for &item in alive.iter().take(OWN_COLOURS) {
        let class = super::colours::class(colours[item], item);
        if has(&class) {
            let _ = writeln!(
                html,
                "<li data-side=\"{number}\" data-i=\"{item}\">{}{} <b title=\"{} bytes\">{}</b></li>",
                swatch(&class),
                escaped(&pictures.names[number].items[item]),
                grouped(side.items[item].bytes.into()),
                page.headline.unit.size(side.items[item].bytes)
            );
        }
    }
    if has("n") {
        let smaller = match alive.len().saturating_sub(OWN_COLOURS) {
            0 => String::new(),
            more => format!("{more} smaller ones, and "),
        };
        let _ = writeln!(html, "<li>{}{smaller}tensors not alive at the peak</li>", swatch("n1"));
    }
    if has("over") {
        let _ = writeln!(
            html,
            "<li>{}bytes of two tensors, one over the other or a part of it</li>",
            swatch("over")
        );
    }
    html.push_str("</ul>\n");
}

/// A table that the script fills when it is opened: the figures are in the page once, as JSON.
fn lazy_table(html: &mut String, kind: &str, number: usize, name: &str) {
    let _ = writeln!(
        html,
        "<details class=\"script\" data-table=\"{kind}\" data-side=\"{number}\"><summary>As a table, {name}</summary><div class=\"wide\"></div></details>"
    );
}

/// The graph in layers.
pub(crate) fn network(html: &mut String, page: &Page, pictures: &Pictures) {
    let about = "Numbers tell the order in which ops run; the darker an op, the more memory is in use while it runs; the thicker a line, the larger the tensor. A thick frame marks the peak.";
    begin(html, "network", "The network and its order", about);
    html.push_str(
        "<div class=\"tools script\"><label>Find <input type=\"search\" id=\"find\" placeholder=\"name, type or number\" autocomplete=\"off\"></label><output id=\"found\"></output>\
         <span role=\"group\" aria-label=\"Zoom of the network\"><button type=\"button\" data-net=\"in\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-net=\"out\" aria-label=\"Zoom out\">−</button>\
         <button type=\"button\" data-net=\"peak\">the peak</button><button type=\"button\" data-net=\"all\">the whole network</button></span></div>\n<div class=\"pair\">\n",
    );
    for number in page.drawn_sides() {
        let _ = writeln!(
            html,
            "<figure class=\"side{number}\">\n<figcaption><b>{}</b></figcaption>\n{}",
            name_of(page, number),
            pictures.network[number].to_html(number)
        );
        lazy_table(html, "tensors", number, "tensor by tensor");
        html.push_str("</figure>\n");
    }
    html.push_str("</div>\n<ul class=\"key\"><li class=\"more\">in use while an op runs:</li>");
    for shade in 0..super::colours::SHADES {
        let _ = write!(
            html,
            "<li>{}{}–{} %</li>",
            swatch(&format!("m{shade}")),
            shade * 100 / super::colours::SHADES,
            (shade + 1) * 100 / super::colours::SHADES
        );
    }
    let peaks = page.sides.each_ref().map(|side| side.peak);
    let whole = if peaks[0] == peaks[1] { "peak" } else { "higher peak" };
    let _ = writeln!(
        html,
        "<li class=\"more\">of the {whole}, {}</li></ul>\n</section>",
        page.headline.unit.size(peaks[0].max(peaks[1]))
    );
}

fn table(html: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    html.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{head}</th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (head, cell) in heads.iter().zip(row) {
            let _ = write!(html, "<td data-head=\"{head}\">{cell}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn folded_table(html: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    html.push_str("<details><summary>As a table</summary>");
    table(html, heads, rows);
    html.push_str("</details>\n");
}

/// What was done.
pub(crate) fn changes(html: &mut String, page: &Page) {
    begin(html, "changes", "What was changed", &code(&page.about_changes));
    if !page.changes.is_empty() {
        let rows = page.changes.iter().map(|change| {
            vec![escaped(&change.kind), code(&change.text), escaped(&change.gained), escaped(&change.cost)]
        });
        table(html, &["what", "where", "gained", "cost"], rows);
    }
    html.push_str("</section>\n");
}

/// The whole arena against boards.
pub(crate) fn device(html: &mut String, page: &Page) {
    let Some(device) = &page.device else { return };
    let about = "TFLM's whole arena on a 32-bit device: the head holds activations and scratch, the tail what persists, and the margin is what other versions and compilers may add.";
    begin(html, "device", "On the device", about);
    let largest = device.boards.iter().map(|board| board.ram).max().unwrap_or(0);
    let most = device.before.sum().max(device.after.sum()).max(1);
    let scale =
        device.boards.iter().map(|board| board.ram).find(|&ram| ram >= most).unwrap_or(largest).max(most);
    html.push_str("<div class=\"stacks\">\n");
    let unit = page.headline.unit;
    let both = if device.before == device.after {
        vec![("", device.after)]
    } else {
        vec![("before", device.before), ("after", device.after)]
    };
    for &(name, sections) in &both {
        let Sections { head, tail, margin } = sections;
        let _ = write!(html, "<div class=\"stack\"><span>{name}</span><div>");
        for (class, bytes) in [("head", head), ("tail", tail), ("margin", margin)] {
            let _ = write!(
                html,
                "<i class=\"{class}\" style=\"width:{:.2}%\"></i>",
                100.0 * bytes as f64 / scale as f64
            );
        }
        let _ = writeln!(html, "</div><b>{}</b></div>", unit.size(sections.sum()));
    }
    html.push_str("<ul class=\"key\"><li><i class=\"head\"></i>head</li><li><i class=\"tail\"></i>tail</li><li><i class=\"margin\"></i>margin</li></ul></div>\n<ul class=\"boards\">\n");
    let (before, after) = (device.before.sum(), device.after.sum());
    for board in &device.boards {
        let (class, verdict) = match (before <= board.ram, after <= board.ram) {
            (true, true) => ("good", "fits"),
            (false, true) => ("good new", "fits now"),
            (true, false) => ("bad", "fitted before"),
            (false, false) => ("bad", "too small"),
        };
        let used = 100.0 * after as f64 / board.ram.max(1) as f64;
        let _ = writeln!(
            html,
            "<li class=\"{class}\"><span class=\"name\">{} <small>{}, {}</small></span><span class=\"meter\"><i style=\"width:{:.1}%\"></i></span><span class=\"verdict\">{verdict}{}</span></li>",
            escaped(&board.name),
            escaped(&board.chip),
            unit.size(board.ram),
            used.min(100.0),
            if used <= 100.0 { format!(" · {used:.0} %") } else { String::new() }
        );
    }
    html.push_str("</ul>\n");
    let row = |name: &str, s: Sections| {
        std::iter::once(name.to_owned())
            .chain([s.head, s.tail, s.margin, s.sum()].map(|b| grouped(b.into())))
            .collect()
    };
    folded_table(
        html,
        &["bytes", "head", "tail", "margin", "sum"],
        both.iter().map(|&(name, sections)| row(name, sections)),
    );
    html.push_str("</section>\n");
}

/// Bytes moved.
pub(crate) fn traffic(html: &mut String, page: &Page, pictures: &Pictures) {
    let (Some(traffic), Some(plot)) = (&page.traffic, &pictures.traffic) else { return };
    let about = format!(
        "If activations do not fit on chip they move out and in again. Bytes moved in one run, by the best plan found for each order, beyond the {} that move in any case (inputs once in, outputs once out).",
        page.headline.unit.size(traffic.compulsory)
    );
    begin(html, "traffic", "Off-chip traffic", &about);
    html.push_str(&plot.to_html());
    html.push_str("<ul class=\"key\">");
    let now = if page.headline.gains_nothing() { "its order" } else { "its order now" };
    for (class, name) in [("n1", "the order that the model came with"), ("t0", now)] {
        if plot.body.contains(&format!("class=\"{class}")) {
            let _ = write!(html, "<li>{}{name}</li>", swatch(class));
        }
    }
    html.push_str("</ul>\n");
    let rows = traffic.sizes.iter().map(|at| {
        vec![
            binary(at.on_chip),
            grouped(at.before.into()),
            at.after.map_or_else(|| "–".to_owned(), |bytes| grouped(bytes.into())),
        ]
    });
    folded_table(html, &["on-chip", "bytes before", "bytes after"], rows);
    html.push_str("</section>\n");
}

/// How random orders do.
pub(crate) fn orders(html: &mut String, page: &Page, pictures: &Pictures) {
    let Some(orders) = &page.orders else { return };
    let reach = if let [(only, _)] = orders.peaks[..] {
        format!("All of them peak at {}: the order does not matter here.", page.headline.unit.size(only))
    } else if orders.share_best > 0.0 {
        format!("{} % of them are as good as the best.", crate::significant(100.0 * orders.share_best, 2))
    } else {
        "None of them is as good as the best.".to_owned()
    };
    let about = format!(
        "{} random orders of these operators, each drawn op by op among those that can run next. {reach}",
        grouped(orders.count.into())
    );
    begin(html, "orders", "Random orders", &about);
    if let Some(plot) = &pictures.orders {
        html.push_str(&plot.to_html());
    }
    let total = orders.count.max(1) as f64;
    let rows = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0].map(|share: f64| {
        let mut seen = 0;
        let peak = orders.peaks.iter().find(|(_, count)| {
            seen += count;
            seen as f64 >= share * total
        });
        vec![format!("{} %", share * 100.0), grouped(peak.map_or(0, |peak| peak.0).into())]
    });
    folded_table(html, &["share of orders", "peak at most, bytes"], rows.into_iter());
    html.push_str("</section>\n");
}

/// What must be known, and where the figures are.
pub(crate) fn notes(html: &mut String, page: &Page) {
    begin(html, "notes", "Notes", "");
    html.push_str("<ul class=\"reasons\">\n");
    for note in &page.notes {
        let _ = writeln!(html, "<li>{}</li>", code(note));
    }
    html.push_str(
        "<li>All figures of this page are in it as JSON, in the element <code>serenity-data</code>. <button type=\"button\" id=\"save\" class=\"script\">Save them</button></li>\n</ul>\n</section>\n",
    );
}
