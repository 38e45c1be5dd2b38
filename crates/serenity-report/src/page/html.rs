//! The page around the pictures: the first screen, and what makes the file stand alone.

use super::colours::variables;
use super::figures::figures;
use super::sections;
use super::{Fit, Headline, Page, Pictures, Unit};
use crate::grouped;
use crate::svg::escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be fetched, whatever a name in the model says: the browser itself sees to it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The style sheet of a page, with its colours for light and dark.
pub fn style_sheet() -> String {
    format!("{}{STYLE}", variables())
}

/// The beginning of a page, up to its body. `title` is escaped already.
pub(crate) fn head(title: &str, style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<meta name=\"generator\" content=\"serenity {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{style}</style>\n</head>\n<body>\n",
        env!("CARGO_PKG_VERSION"),
    )
}

pub(crate) fn page(page: &Page, pictures: &Pictures) -> String {
    let title = escaped(&crate::names::full_name(&page.title));
    let mut html = head(&format!("{title}: {}", escaped(&in_short(&page.headline))), &style_sheet());
    html.push_str("<a class=\"skip\" href=\"#memory\">Skip to the pictures</a>\n");
    html.push_str("<header><p class=\"brand\">Serenity <span>report</span></p><button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<main>\n");
    first_screen(&mut html, page, &title);
    sections::navigation(&mut html, page);
    sections::advice(&mut html, page);
    sections::memory(&mut html, page, pictures);
    sections::arena(&mut html, page, pictures);
    sections::network(&mut html, page, pictures);
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
    let unit = headline.unit;
    if headline.at_least {
        return at_least(headline.after, unit);
    }
    format!("{} → {}", unit.size(headline.before), unit.size(headline.after))
}

/// A figure that does not count everything: none is no figure.
fn at_least(bytes: u64, unit: Unit) -> String {
    if bytes == 0 { "unknown".to_owned() } else { format!("at least {}", unit.size(bytes)) }
}

fn first_screen(html: &mut String, page: &Page, title: &str) {
    let headline = &page.headline;
    let unit = headline.unit;
    let over = if is_over(page) { " over" } else { "" };
    let _ = writeln!(
        html,
        "<section class=\"first{over}\" aria-labelledby=\"title\">\n<h1 id=\"title\">{title}</h1>\n<ul class=\"facts\">"
    );
    for (name, value) in &page.facts {
        let _ = writeln!(html, "<li><span>{}</span> {}</li>", escaped(name), escaped(value));
    }
    html.push_str("</ul>\n");
    if headline.at_least {
        let _ = writeln!(
            html,
            "<p class=\"big\"><span class=\"new\">{}</span></p>\n<p class=\"counts\"><b>{}</b> {}: {} before, {} after.</p>",
            at_least(headline.after, unit),
            escaped(&gain(headline)),
            escaped(&headline.counts),
            at_least(headline.before, unit),
            at_least(headline.after, unit),
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
    if is_over(page) {
        let is_cured = page.remedies.iter().any(|remedy| remedy.fits == Some(true));
        let heading = if is_cured { "What would make it fit" } else { "What would lower it" };
        let _ = writeln!(html, "<div id=\"fixes\">\n<h2>{heading}</h2>");
        sections::remedies(html, &page.remedies);
        html.push_str("</div>\n");
    }
    bars(html, headline);
    if let Some(why) = headline.why.first() {
        let _ = writeln!(html, "<p class=\"why\">{}</p>", code(why));
    }
    html.push_str("</section>\n");
}

/// Must the first screen say what would help?
pub(crate) fn is_over(page: &Page) -> bool {
    matches!(page.headline.fit, Fit::TooLarge | Fit::Unknown) && !page.remedies.is_empty()
}

/// What was and what is, side by side: only where both count everything.
fn becomes(html: &mut String, headline: &Headline) {
    let unit = headline.unit;
    let [before, after] = [headline.before, headline.after].map(|bytes| grouped(bytes.into()));
    html.push_str("<p class=\"big\">");
    if !headline.gains_nothing() {
        let _ = write!(
            html,
            "<span class=\"old\" title=\"{before} bytes\">{}</span><span class=\"arrow\" aria-label=\"becomes\">→</span>",
            spaced(&unit.size(headline.before))
        );
    }
    let _ = writeln!(
        html,
        "<span class=\"new\" title=\"{after} bytes\">{}</span></p>\n<p class=\"counts\"><b>{}</b> {}: {before} bytes before, {after} after. {}</p>",
        spaced(&unit.size(headline.after)),
        escaped(&gain(headline)),
        escaped(&headline.counts),
        escaped(&headline.proof)
    );
}

fn gain(headline: &Headline) -> String {
    match (headline.before, headline.after) {
        _ if headline.at_least => "Not all is known.".to_owned(),
        (before, after) if after < before && after > 0 => {
            let (before, after) = (before as f64, after as f64);
            format!("{:.2}× less, {:.1} % saved.", before / after, (1.0 - after / before) * 100.0)
        }
        _ => "Nothing was gained.".to_owned(),
    }
}

/// Two bars and the budget across them.
fn bars(html: &mut String, headline: &Headline) {
    // Nothing to compare, or no figure that counts everything.
    if headline.at_least || (headline.gains_nothing() && headline.budget.is_none()) {
        return;
    }
    let most = headline.before.max(headline.after).max(headline.budget.unwrap_or(0)).max(1);
    let share = |bytes: u64| format!("{:.2}", 100.0 * bytes as f64 / most as f64);
    html.push_str("<div class=\"bars\" aria-hidden=\"true\">");
    let both = [("old", headline.before), ("new", headline.after)];
    for (class, bytes) in both.into_iter().skip(usize::from(headline.gains_nothing())) {
        let over = if headline.budget.is_some_and(|budget| bytes > budget) { " over" } else { "" };
        let _ = write!(html, "<div class=\"{class}{over}\" style=\"width:{}%\"></div>", share(bytes));
    }
    if let Some(budget) = headline.budget {
        let turned = if budget > most / 2 { " turned" } else { "" };
        let _ = write!(
            html,
            "<div class=\"limit{turned}\" style=\"left:{}%\"><span>budget {}</span></div>",
            share(budget),
            headline.unit.size(budget)
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
