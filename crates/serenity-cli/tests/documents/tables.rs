//! Tables of figures, computed again: a comment `<!-- table: NAME -->` says which of these it is. The first cell of
//! each row says of what.

use crate::markdown::{Table, row};
use crate::session::{Session, collection};
use serde_json::Value;
use serenity_judges::{Need, skip};
use std::path::PathBuf;

/// One row of so many is computed, unless there is time for all or the document is written anew.
const STEP: usize = 3;

/// The rows as they should be; a fault for each that differs.
pub(crate) fn rows(session: &mut Session, table: &Table) -> String {
    let mut text = String::new();
    let step = if serenity_judges::is_slow() || crate::is_blessing() { 1 } else { STEP };
    for (index, cells) in table.rows.iter().enumerate() {
        if index % step != 0 {
            skip(Need::Slow, format!("a row of the table `{}` is not computed", table.name));
            text += &row(cells);
            continue;
        }
        let anew = match table.name.as_str() {
            "order" => order(session, cells),
            "random orders" => random_orders(session, cells),
            "rewriting" => rewriting(session, cells),
            "paper" => paper(cells),
            "onnx runtime" => onnx_runtime(session, cells),
            "fast sessions" => fast_sessions(session, cells, &table.rows),
            "arenas" => arenas(session, cells, &table.rows),
            "loops" => loops(session, cells),
            "constant channels" => constant_channels(session, cells),
            "emitted" => emitted(session, cells),
            "emitted kernels" => emitted_kernels(session, cells),
            "scoreboard" => scoreboard(cells),
            other => panic!("no table is called `{other}`"),
        };
        if anew != *cells {
            let (old, new) = (row(cells), row(&anew));
            session.stale.push(format!(
                "the table `{}` after line {} is stale:\n-{old}+{new}",
                table.name, table.line
            ));
        }
        text += &row(&anew);
    }
    text
}

/// The command that the last cell names.
fn command(cells: &[String]) -> Option<String> {
    Some(cells.last()?.strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

fn bytes(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

fn factor(before: u64, after: u64) -> String {
    format!("{:.2} x", before as f64 / after as f64)
}

/// network | file | Kahn | optimum | Kahn / optimum | command
fn order(session: &mut Session, cells: &[String]) -> Vec<String> {
    let command = command(cells).unwrap();
    let found = session.json(&command);
    let kahn = session
        .json(&command.replace("optimize", "schedule --algorithm kahn").replace(" --rewrite none", ""));
    let (before, kahn, after) =
        (bytes(&found["before"]["peak"]), bytes(&kahn["peak"]), bytes(&found["after"]["peak"]));
    assert_eq!(found["proof"], "optimal", "{command}");
    let ratio = format!("{:.2}", kahn as f64 / after as f64);
    [cells[0].clone(), thousands(before), thousands(kahn), thousands(after), ratio, cells[5].clone()].into()
}

/// measure | within 250 KB | optimal | command
fn random_orders(session: &mut Session, cells: &[String]) -> Vec<String> {
    // The paper's own figures.
    let Some(command) = command(cells) else { return cells.to_vec() };
    let found = session.json(&command);
    let percent = |field: &str| found[field].as_f64().unwrap() * 100.0;
    let (within, optimal) = (percent("share_within_budget"), percent("share_optimal"));
    [cells[0].clone(), format!("{within:.2} %"), format!("{optimal:.3} %"), cells[3].clone()].into()
}

/// network | best order | rewritten | times less | the paper's rewriting
fn rewriting(session: &mut Session, cells: &[String]) -> Vec<String> {
    let (network, as_model) = match cells[0].as_str() {
        "SwiftNet-like cell A, wiring `first`" => ("swiftnet-a", false),
        "SwiftNet-like cell B" => ("swiftnet-b", false),
        "SwiftNet-like cell C" => ("swiftnet-c", false),
        "DARTS V2 normal cell" => ("darts-cell", false),
        "SwiftNet-like cell A, wiring `first`, as .tflite, float, TFLM" => ("swiftnet-a", true),
        "SwiftNet-like cell C as .tflite, float, TFLM" => ("swiftnet-c", true),
        randwire => {
            assert!(randwire.contains("(`serenity paper`)"), "{randwire}");
            return randwire_medians(cells);
        }
    };
    let input = if as_model {
        session.json(&format!("serenity zoo export {network} -o {network}.tflite"));
        format!("{network}.tflite")
    } else {
        format!("zoo:{network}")
    };
    let field = if as_model { "arena" } else { "peak" };
    let needs =
        |options: &str| bytes(&session.json(&format!("serenity optimize {input}{options}"))["after"][field]);
    let (without, with) = (needs(" --rewrite none"), needs(""));
    [cells[0].clone(), thousands(without), thousands(with), factor(without, with), cells[4].clone()].into()
}

/// From docs/paper, which `scripts/test` computes again.
fn randwire_medians(cells: &[String]) -> Vec<String> {
    let found = csv("beyond", "RandWire CIFAR-10 A");
    let kilobytes = |column: usize| format!("{} KB", found[column]);
    let mut anew = cells.to_vec();
    (anew[1], anew[2], anew[3]) = (kilobytes(2), kilobytes(4), format!("{} x", found[5]));
    anew
}

/// what | paper | here
fn paper(cells: &[String]) -> Vec<String> {
    let glance = |name: &str| csv("at-a-glance", name)[2].clone();
    let times = |name: &str| format!("{} x", glance(name));
    let here = match cells[0].as_str() {
        "less peak memory by scheduling, geometric mean of nine cells" => {
            times("less peak memory by scheduling, geometric mean")
        }
        "with the paper's rewriting too" => times("less peak memory with rewriting too, geometric mean"),
        "DARTS normal cell: TensorFlow Lite, scheduled, rewritten, KB" => {
            let found = csv("peak-memory", "DARTS ImageNet, normal cell");
            [&found[2], &found[4], &found[6]].map(String::as_str).join(", ")
        }
        "less off-chip traffic with 256 KiB on chip, with rewriting" => {
            let found = glance(
                "less off-chip traffic with 256 KiB on chip, with rewriting, as the abstract pairs it",
            );
            let (all, rest) = found.split_once(" all cells together, ").unwrap();
            format!("{all} x all cells together, {} x mean", rest.split(' ').next().unwrap())
        }
        "of the 1.68 x, the order alone, with the same semantics on both sides" => {
            times("of that, the order alone (same semantics on both sides: views, live sum), geometric mean")
        }
        other => panic!("the paper's evaluation does not tell: {other}"),
    };
    [cells[0].clone(), cells[1].clone(), here].into()
}

/// A row of a table of docs/paper.
fn csv(table: &str, first: &str) -> Vec<String> {
    let path = crate::path(&format!("docs/paper/{table}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let cells = |line: &str| {
        let mut quoted = false;
        let mut cells = vec![String::new()];
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                c => cells.last_mut().unwrap().push(c),
            }
        }
        cells
    };
    text.lines()
        .map(cells)
        .find(|cells| cells[0] == first)
        .unwrap_or_else(|| panic!("no row `{first}` in {table}.csv"))
}

/// model | requested before | after | in use before | after
fn onnx_runtime(session: &mut Session, cells: &[String]) -> Vec<String> {
    let Some(path) = model(cells[0].trim_matches('`'), "onnx") else { return cells.to_vec() };
    session.json(&format!("serenity optimize '{}' --ort-session plain -o new.onnx", path.display()));
    let inputs = serenity_judges::Inputs { runs: 1, seed: 1 };
    let models = [path, session.path("new.onnx")];
    let Some(seen) = serenity_judges::ort(serenity_judges::OrtOrder::File, &models, &inputs) else {
        return cells.to_vec();
    };
    let [before, after] = [seen[0].accepted(), seen[1].accepted()];
    let figures = [before.requested_peak, after.requested_peak, before.peak, after.peak];
    std::iter::once(cells[0].clone()).chain(figures.map(thousands)).collect()
}

/// model | default session | fast session | times less
fn fast_sessions(session: &mut Session, cells: &[String], rows: &[Vec<String>]) -> Vec<String> {
    if cells[0] == "geometric mean" {
        // Of a range, what is least in our favour.
        let number = |cell: &str| cell.split(" to ").next().unwrap().replace(',', "").parse::<f64>().unwrap();
        let rows = &rows[..rows.len() - 1];
        let logarithms = rows.iter().map(|row| (number(&row[1]) / number(&row[2])).ln());
        let mean = format!("{:.2} x", (logarithms.sum::<f64>() / rows.len() as f64).exp());
        return [cells[0].clone(), String::new(), String::new(), mean].into();
    }
    // No two runs of a default session are alike there.
    let is_by_chance = cells[1].contains("to");
    let Some(path) = model(cells[0].trim_matches('`'), "onnx").filter(|_| !is_by_chance) else {
        return cells.to_vec();
    };
    if serenity_judges::python().is_none() {
        return cells.to_vec();
    }
    let found = session.json(&format!("serenity optimize '{}' -o new.onnx", path.display()));
    let before = vec![path];
    let seen = serenity_judges::sessions(
        &before,
        &[session.path("new.onnx")],
        &[String::new()],
        0.0,
        &serenity_judges::Inputs::default(),
    );
    let Some(seen) = seen else { return cells.to_vec() };
    let seen = seen[0].accepted();
    assert!(seen.equal && seen.fast == bytes(&found["after"]["arena"]), "{}: {seen:?}", cells[0]);
    [cells[0].clone(), thousands(seen.default), thousands(seen.fast), factor(seen.default, seen.fast)].into()
}

/// Half a minute of search and more, unoptimised as tests are.
const SLOW: [&str; 9] = [
    "nasnet_a_n1_f192_96_float",
    "densenet_2242_64_float",
    "hand_recrop",
    "nasnet_a_n1_f192_96_int8",
    "nasnet_mobile_224_int8",
    "basic_pitch_nmp",
    "darts_repo_nasnet_cifar_c16_l8",
    "nasnet_a_n1_f192_96_tf2onnx",
    "randwire_ws4_075_stages_c16_32",
];

/// A model of the collection; `None`, and a plain word why, if it is not looked at.
fn model(name: &str, extension: &str) -> Option<PathBuf> {
    let path = collection().join(format!("{name}.{extension}"));
    let need = if !path.exists() {
        Need::Collection
    } else if SLOW.contains(&name) && !serenity_judges::is_slow() {
        Need::Slow
    } else {
        return Some(path);
    };
    skip(need, format!("the row of {name} is not computed"));
    None
}

/// model | before and after with each set of kernels, planned for that set
fn arenas(session: &mut Session, cells: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let name = cells[0].trim_matches('`');
    if name == "geometric mean" {
        return means(cells, &rows[..rows.len() - 1]);
    }
    let Some(path) = model(name, "tflite") else { return cells.to_vec() };
    let figures = ["any", "reference", "cmsis-nn", "cmsis-nn-mve", "esp-nn"].map(|kernels| {
        let found = session.json(&format!("serenity optimize '{}' --kernels {kernels}", path.display()));
        let [before, after] = ["before", "after"].map(|when| thousands(bytes(&found[when]["arena"])));
        format!("{before} → {after}")
    });
    std::iter::once(cells[0].clone()).chain(figures).collect()
}

/// Rows of `loops` that take more than a few seconds.
const SLOW_LOOPS: [&str; 3] = [
    "BlazeFace front, 128x128 float",
    "DenseNet, 64x64 int8",
    "SwiftNet-like cell A int8 (`zoo:swiftnet-a`)",
];

/// model | head as it came | without loops | with them | times less | for every set of `any` | MACs, and words that are kept
fn loops(session: &mut Session, cells: &[String]) -> Vec<String> {
    if SLOW_LOOPS.contains(&cells[0].as_str()) && !serenity_judges::is_slow() {
        skip(Need::Slow, format!("the row of {} is not computed", cells[0]));
        return cells.to_vec();
    }
    let path = match cells[0].split_once("(`zoo:") {
        Some((_, network)) => {
            let network = network.trim_end_matches("`)");
            session.json(&format!("serenity zoo export {network} --int8 -o {network}.tflite"));
            session.path(&format!("{network}.tflite"))
        }
        None => match named(&cells[0]) {
            Some(path) => path,
            None => return cells.to_vec(),
        },
    };
    let run = |command: &str, options: &str| {
        session.json(&format!("serenity {command} '{}' {options}", path.display()))
    };
    // The first of the sets is that of the portable kernels.
    let portable = |found: &Value| bytes(&found["by_kernels"][0]["arena"]);
    let (came, plain) = (run("inspect", "--kernels reference"), run("optimize", ""));
    let looped = run("optimize", "--loops");
    let [came, plain, with] = [bytes(&came["arena"]), portable(&plain), portable(&looped)];
    let mut macs = cells[6].clone();
    if let (Some(extra), Some(all)) =
        (looped["loops"]["extra_macs"].as_f64(), looped["loops"]["macs"].as_f64())
    {
        let words = cells[6].split_once(" %").map_or("", |(_, words)| words);
        macs = format!("+{:.1} %{words}", 100.0 * extra / all);
    }
    let every = bytes(&looped["after"]["arena"]);
    let [came, plain, less] = [thousands(came), thousands(plain), factor(came, with)];
    [cells[0].clone(), came, plain, thousands(with), less, thousands(every), macs].into()
}

/// model | channels | multiplications | bytes of weights | bytes of the file | whole arena as it came, planned, and
/// without constant channels as well
fn constant_channels(session: &mut Session, cells: &[String]) -> Vec<String> {
    let Some(path) = model(cells[0].trim_matches('`'), "tflite") else { return cells.to_vec() };
    let planned = |rewrites: &str| {
        let command =
            format!("serenity optimize '{}' --kernels reference --rewrite {rewrites}", path.display());
        session.json(&format!("{command} -o narrow.tflite"))
    };
    let (without, with) = (planned("none"), planned("constant-channels"));
    let pair = |field: &str| {
        let both = ["before", "after"].map(|when| bytes(&with["constant_channels"][field][when]));
        both.map(thousands).join(" → ")
    };
    let whole = |found: &Value, when: &str| thousands(bytes(&found[when]["total"]["arm32"]));
    let arenas = [whole(&with, "before"), whole(&without, "after"), whole(&with, "after")].join(" → ");
    let sizes =
        [path.clone(), session.path("narrow.tflite")].map(|file| std::fs::metadata(file).unwrap().len());
    let files = sizes.map(thousands).join(" → ");
    [cells[0].clone(), pair("channels"), pair("macs"), pair("weight_bytes"), files, arenas].into()
}

/// A model of the collection, by what people call it.
fn named(title: &str) -> Option<PathBuf> {
    let name = match title {
        "MLPerf Tiny, keyword spotting int8" => "mlperf_tiny_kws_int8",
        "MLPerf Tiny, image classification int8" => "mlperf_tiny_resnet8_int8",
        "MLPerf Tiny, visual wake words int8" => "mlperf_tiny_vww_96_int8",
        "MobileNet v2 0.35, 96x96 int8" => "mobilenet_v2_035_96_int8",
        "BlazeFace front, 128x128 float" => "blazeface_front_128_float",
        "DenseNet, 64x64 int8" => "densenet_2242_64_int8",
        "NASNet-A, 96x96 int8" => "nasnet_a_n1_f192_96_int8",
        "NASNet mobile, 224x224 int8" => "nasnet_mobile_224_int8",
        "Basic Pitch, float" => "basic_pitch_nmp",
        other => panic!("no model is called `{other}`"),
    };
    model(name, "tflite")
}

/// model | whole arena as it came | with plan and loops | static RAM of C | what compilers and clocks say, which is kept
fn emitted(session: &mut Session, cells: &[String]) -> Vec<String> {
    let Some(path) = named(&cells[0]) else { return cells.to_vec() };
    let path = path.display();
    let found = session.json(&format!("serenity optimize '{path}' --kernels reference --loops"));
    let code = session.json(&format!("serenity emit c '{path}' -o code --loops"));
    let mut anew = cells.to_vec();
    for (cell, when) in [(1, "before"), (2, "after")] {
        anew[cell] = thousands(bytes(&found[when]["total"]["arm32"]));
    }
    anew[3] = thousands(bytes(&code["ram"]));
    anew
}

/// model | static RAM of C with our kernels | with calls into CMSIS-NN | with those for vectors
fn emitted_kernels(session: &mut Session, cells: &[String]) -> Vec<String> {
    let Some(path) = named(&cells[0]) else { return cells.to_vec() };
    let figures = ["emitted", "cmsis-nn", "cmsis-nn-mve"].map(|kernels| {
        let code = session.json(&format!("serenity emit c '{}' -o code --kernels {kernels}", path.display()));
        thousands(bytes(&code["ram"]))
    });
    std::iter::once(cells[0].clone()).chain(figures).collect()
}

/// Over the rows above.
fn means(cells: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let mean = |column: usize| {
        let number = |cell: &str| cell.replace(',', "").parse::<f64>().unwrap();
        let ratio = |row: &Vec<String>| {
            let (before, after) = row[column].split_once(" → ").unwrap();
            (number(before) / number(after)).ln()
        };
        format!("{:.2} x", (rows.iter().map(ratio).sum::<f64>() / rows.len() as f64).exp())
    };
    std::iter::once(cells[0].clone()).chain((1..cells.len()).map(mean)).collect()
}

/// A row of docs/SCOREBOARD.md, which `benchmarks` prints: the one with the same first two cells.
fn scoreboard(cells: &[String]) -> Vec<String> {
    let page = std::fs::read_to_string(crate::path("docs/SCOREBOARD.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let mut rows = rows.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    rows.find(|row| row.starts_with(&cells[..2]))
        .unwrap_or_else(|| panic!("the scoreboard has no row {cells:?}"))
}
