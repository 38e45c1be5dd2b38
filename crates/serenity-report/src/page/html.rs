//! The page around the pictures: the first screen, and what makes the file stand alone.

use super::colours::variables;
use super::figures::figures;
use super::sections;
use super::size::size;
use super::{Fit, Headline, Page, Pictures};
use crate::grouped;
use crate::svg::escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be fetched, whatever a name in the model says: the browser itself sees to it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

pub(crate) fn page(page: &Page, pictures: &Pictures) -> String {
    let title = escaped(&crate::names::full_name(&page.title));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<meta name=\"generator\" content=\"serenity {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}: {}</title>\n\
         <style>\n{}{STYLE}</style>\n</head>\n<body>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(&in_short(&page.headline)),
        variables()
    );
    html.push_str("<a class=\"skip\" href=\"#memory\">Skip to the pictures</a>\n");
    html.push_str("<header><p class=\"brand\">Serenity <span>report</span></p><button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<main>\n");
    first_screen(&mut html, page, &title);
    sections::navigation(&mut html, page);
    sections::advice(&mut html, page);
    sections::memory(&mut html, page, pictures);
    sections::arena(&mut html, page, pictures);
    sections::network(&mut html, pictures);
    sections::changes(&mut html, page);
    sections::device(&mut html, page);
    sections::traffic(&mut html, page, pictures);
    sections::orders(&mut html, page, pictures);
    sections::notes(&mut html, page);
    html.push_str("</main>\n");
    html.push_str(
        "<aside id=\"panel\" aria-live=\"polite\" aria-label=\"What is alive while an op runs\" hidden></aside>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n",
    );
    let _ = write!(
        html,
        "<script type=\"application/json\" id=\"serenity-data\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        figures(page, pictures)
    );
    html
}

/// The headline in a few words, for the title of the window.
fn in_short(headline: &Headline) -> String {
    if headline.at_least {
        return at_least(headline.after);
    }
    format!("{} → {}", size(headline.before), size(headline.after))
}

/// A figure that does not count everything: none is no figure.
fn at_least(bytes: u64) -> String {
    if bytes == 0 { "unknown".to_owned() } else { format!("at least {}", size(bytes)) }
}

fn first_screen(html: &mut String, page: &Page, title: &str) {
    let headline = &page.headline;
    let _ = writeln!(
        html,
        "<section class=\"first\" aria-labelledby=\"title\">\n<h1 id=\"title\">{title}</h1>\n<ul class=\"facts\">"
    );
    for (name, value) in &page.facts {
        let _ = writeln!(html, "<li><span>{}</span> {}</li>", escaped(name), escaped(value));
    }
    html.push_str("</ul>\n");
    if headline.at_least {
        let _ = writeln!(
            html,
            "<p class=\"big\"><span class=\"new\">{}</span></p>\n<p class=\"counts\"><b>{}</b> {}: {} before, {} after.</p>",
            at_least(headline.after),
            escaped(&gain(headline)),
            escaped(&headline.counts),
            at_least(headline.before),
            at_least(headline.after),
        );
    } else {
        becomes(html, headline);
    }
    if !headline.fit_text.is_empty() {
        let (class, sign) = match headline.fit {
            Fit::Fits => ("good", "✓"),
            Fit::TooLarge => ("bad", "✗"),
            Fit::Unknown => ("bad", "?"),
            Fit::NotAsked => ("plain", "·"),
        };
        let _ = writeln!(
            html,
            "<p class=\"fit {class}\"><span aria-hidden=\"true\">{sign}</span>{}</p>",
            escaped(&headline.fit_text)
        );
    }
    if let Some(why) = headline.why.first() {
        let _ = writeln!(html, "<p class=\"why\">{}</p>", code(why));
    }
    html.push_str("</section>\n");
}

/// What was and what is, side by side: only where both count everything.
fn becomes(html: &mut String, headline: &Headline) {
    let _ = writeln!(
        html,
        "<p class=\"big\"><span class=\"old\" title=\"{} bytes\">{}</span><span class=\"arrow\" aria-label=\"becomes\">→</span><span class=\"new\" title=\"{} bytes\">{}</span></p>",
        grouped(headline.before.into()),
        spaced(&size(headline.before)),
        grouped(headline.after.into()),
        spaced(&size(headline.after)),
    );
    let _ = writeln!(
        html,
        "<p class=\"counts\"><b>{}</b> {}: {} bytes before, {} after. {}</p>",
        escaped(&gain(headline)),
        escaped(&headline.counts),
        grouped(headline.before.into()),
        grouped(headline.after.into()),
        escaped(&headline.proof)
    );
    bars(html, headline);
}

fn gain(headline: &Headline) -> String {
    match (headline.before, headline.after) {
        _ if headline.at_least => "Not all is known.".to_owned(),
        (before, after) if after < before && after > 0 => {
            let (before, after) = (before as f64, after as f64);
            format!("{:.2}× less, {:.1} % saved.", before / after, (1.0 - after / before) * 100.0)
        }
        _ => "As much as before.".to_owned(),
    }
}

/// Two bars and the budget across them.
fn bars(html: &mut String, headline: &Headline) {
    let most = headline.before.max(headline.after).max(headline.budget.unwrap_or(0)).max(1);
    let share = |bytes: u64| format!("{:.2}", 100.0 * bytes as f64 / most as f64);
    html.push_str("<div class=\"bars\" aria-hidden=\"true\">");
    for (class, bytes) in [("old", headline.before), ("new", headline.after)] {
        let over = if headline.budget.is_some_and(|budget| bytes > budget) { " over" } else { "" };
        let _ = write!(html, "<div class=\"{class}{over}\" style=\"width:{}%\"></div>", share(bytes));
    }
    if let Some(budget) = headline.budget {
        let turned = if budget > most / 2 { " turned" } else { "" };
        let _ = write!(
            html,
            "<div class=\"limit{turned}\" style=\"left:{}%\"><span>budget {}</span></div>",
            share(budget),
            size(budget)
        );
    }
    html.push_str("</div>\n");
}

/// Number and unit, never on two lines.
fn spaced(size: &str) -> String {
    match size.split_once(' ') {
        Some((number, unit)) => format!("{number}<small>\u{a0}{unit}</small>"),
        None => size.to_owned(),
    }
}

/// A sentence whose names stand in backticks.
pub(crate) fn code(text: &str) -> String {
    let mut html = String::new();
    for (at, part) in text.split('`').enumerate() {
        let part = escaped(part);
        let _ = if at % 2 == 1 { write!(html, "<code>{part}</code>") } else { write!(html, "{part}") };
    }
    html
}
