//! Prints the style sheet of the report, which other pages share: `scripts/web` puts it beside the page of the browser.
#![allow(clippy::print_stdout, reason = "this is what it does")]

fn main() {
    print!("{}", serenity_report::page::style_sheet());
}
