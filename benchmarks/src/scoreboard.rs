//! Us against what people would use instead, in one run on the same inputs, as Markdown.
//!
//! Peers are asked, not quoted: where one is not installed, that is what the table says.

mod board;
mod inputs;
mod orders;
mod peers;
mod places;
mod runtimes;

use crate::table::Table;
use board::Board;
use inputs::Inputs;
use peers::Package;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

const HEAD: &str = include_str!("scoreboard/head.md");
/// Peers that no registry has, and where their figures come from.
const ELSEWHERE: &str = include_str!("scoreboard/elsewhere.md");
const LOCK: &str = include_str!("../Cargo.lock");

/// Measures everything, then prints the page.
pub(crate) fn run(sources: &[String], cap: Duration) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let inputs = Inputs::gather(sources, folder.path())?;
    let [vela, torch, executorch] = ["ethos-u-vela", "torch", "executorch"].map(Package::find);
    let files: Vec<PathBuf> = inputs.tflite.iter().map(|file| file.path.clone()).collect();
    let compiled = peers::ask(vela.as_ref(), "vela.py", &[], &files)?;
    let (orders, ordered) = orders::measure(&inputs, &compiled, torch.as_ref(), cap, folder.path())?;
    let orders = shown(orders);
    let packages = [vela.as_ref(), executorch.as_ref()];
    let places = shown(places::measure(&ordered, &inputs.tables, packages, cap, folder.path())?);
    let boards = [
        shown(runtimes::tflm(&inputs.tflite, &compiled, folder.path())),
        shown(runtimes::litert(&inputs.tflite, folder.path())),
        shown(runtimes::ort(&inputs.onnx, folder.path())),
        orders,
        places,
    ];
    println!("{HEAD}\n{}\n", versions(cap));
    println!("{}\n", measured_on(sources));
    println!("{}", glance(&boards));
    for board in &boards {
        println!("{}", board.markdown());
    }
    print!("{ELSEWHERE}");
    Ok(())
}

/// It is long until the page is whole: whoever waits sees what is known.
fn shown(board: Board) -> Board {
    eprintln!("{}", board.markdown());
    board
}

/// Who was asked.
fn versions(cap: Duration) -> String {
    let of = |name: &str, package: &str| {
        let version = Package::find(package).map_or("not installed".to_owned(), |package| package.version);
        format!("{name} {version}")
    };
    let python = [
        ("TFLM", "tflite-micro"),
        ("LiteRT", "ai-edge-litert"),
        ("ONNX Runtime", "onnxruntime"),
        ("Vela", "ethos-u-vela"),
        ("PyTorch", "torch"),
        ("ExecuTorch", "executorch"),
    ];
    let mut all: Vec<String> = python.iter().map(|(name, package)| of(name, package)).collect();
    all.push(format!("tract {}", locked("tract-core").unwrap_or("of an unknown version")));
    format!("Asked: {}. A search may take {} of CPU time.", all.join(", "), crate::measure::in_words(cap))
}

/// What was asked about.
fn measured_on(sources: &[String]) -> String {
    if sources.is_empty() {
        return "Measured on all inputs.".to_owned();
    }
    let names: Vec<String> =
        sources.iter().map(|source| format!("`{}`", crate::networks::short_name(source))).collect();
    format!("Measured on these inputs only: {}.", names.join(", "))
}

/// The version that this program is built with.
fn locked(package: &str) -> Option<&'static str> {
    let entry = LOCK.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{package}\"\n")))?;
    entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

/// All peers in one table.
fn glance(boards: &[Board]) -> String {
    let mut table = Table::new([
        "question",
        "tool",
        "inputs",
        "mean",
        "largest",
        "smallest",
        "inputs where it needs less",
    ]);
    for row in boards.iter().flat_map(Board::glance) {
        table.push(row);
    }
    format!("## At a glance\n{}", table.markdown())
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_those_of_the_build() {
        assert!(super::locked("tract-core").is_some_and(|version| version.starts_with("0.")));
        assert_eq!(super::locked("no-such-package"), None);
    }
}
