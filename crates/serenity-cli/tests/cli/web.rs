//! The whole tool in a browser, as `scripts/web` builds it: driven as somebody would, and compared with the command.

use crate::browser::Browser;
use crate::harness::Desk;
use crate::server::Server;
use serde_json::{Value, json};
use serenity_judges::{Need, sample, shared, skip};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Models of the collection, of all formats and sizes.
const MODELS: [&str; 10] = [
    "mlperf_tiny_vww_96_int8.tflite",
    "hand_recrop.tflite",
    "nasnet_a_n1_f192_96_int8.tflite",
    "yunet_n_320_qdq_int8.onnx",
    "mobilenet_v2_035_96_int8.tflite",
    "face_detection_short_range.tflite",
    "tflm_mnist_lstm_int8.tflite",
    "microwakeword_okay_nabu.tflite",
    "light_shufflenet.onnx",
    "mlperf_tiny_resnet8_float.tflite",
];

/// Nothing but the page as it was loaded.
const LOADED: [&str; 6] = ["", "page.css", "page.js", "report.css", "serenity.wasm", "worker.js"];

/// The page, open in a browser.
struct Page {
    browser: Browser,
    server: Server,
    downloads: tempfile::TempDir,
}

impl Page {
    fn open(flags: &[&str]) -> Option<Self> {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/built");
        if !built.join("serenity.wasm").exists() {
            skip(Need::Web, "there is no web/built; scripts/web builds it");
            return None;
        }
        let browser = Browser::open_with(flags)?;
        let mut page = Self { browser, server: Server::of(&built), downloads: tempfile::tempdir().unwrap() };
        let folder = json!({"behavior": "allow", "downloadPath": page.downloads.path()});
        page.browser.call("Page.setDownloadBehavior", &folder);
        page.browser.resize(1280, 900);
        page.browser.visit(page.server.address());
        page.wait_for_status("Ready.");
        Some(page)
    }

    fn wait_for_status(&mut self, begin: &str) {
        let status = "document.getElementById('status').textContent";
        self.browser.wait_for(&format!(
            "{status}.startsWith('{begin}') || !document.getElementById('problem').hidden"
        ));
        let (said, problem) = (self.browser.text(status), self.problem());
        assert!(said.starts_with(begin), "`{said}` instead of `{begin}`: {problem}");
    }

    fn problem(&mut self) -> String {
        self.browser.text("document.getElementById('problem').innerText")
    }

    fn set(&mut self, field: &str, value: &str) {
        let field = format!("document.getElementById('form').elements['{field}']");
        self.browser.value(&format!("{field}.value = '{value}'; {field}.dispatchEvent(new Event('input'))"));
    }

    fn drop_model(&mut self, path: &Path) {
        self.browser.drop_file("document.getElementById('drop')", path);
    }

    /// What a button downloads.
    fn download(&mut self, button: &str, name: &str) -> Vec<u8> {
        let path = self.downloads.path().join(name);
        let _ = std::fs::remove_file(&path);
        self.browser.click(button);
        let begun = Instant::now();
        while !path.exists() || self.downloads.path().join(format!("{name}.crdownload")).exists() {
            let problem = self.problem();
            assert!(begun.elapsed() < Duration::from_secs(120), "no {name}: {problem}");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::read(path).unwrap()
    }

    /// Nothing went wrong, and nothing was asked for after the page had loaded.
    fn assert_quiet(&mut self) {
        let mut asked = self.server.asked();
        asked.sort();
        assert_eq!(asked, LOADED);
        let ours = |told: &String| !told.contains("\"Network.requestWillBeSent\"");
        let complaints: Vec<String> = self.browser.complaints().into_iter().filter(ours).collect();
        assert_eq!(complaints, Vec::<String>::new());
    }
}

/// The button of a file by its text.
fn button(text: &str) -> String {
    format!("[...document.querySelectorAll('#files button')].find(e => e.textContent === '{text}')")
}

/// A plan, all of which but the time is the same each time.
fn without_time(plan: &[u8]) -> String {
    let mut plan: Value = serde_json::from_slice(plan).unwrap();
    assert!(plan["seconds"].take().is_f64());
    plan.to_string()
}

/// Files of a ZIP archive that is not compressed, by name.
fn unzipped(archive: &[u8]) -> Vec<(String, String)> {
    let number = |at: usize, bytes: usize| {
        archive[at..at + bytes].iter().rev().fold(0, |number, &byte| (number << 8) | usize::from(byte))
    };
    let text = |from: usize, length: usize| String::from_utf8(archive[from..from + length].to_vec()).unwrap();
    let (mut at, mut files) = (0, Vec::new());
    while archive[at..].starts_with(b"PK\x03\x04") {
        let (size, name) = (number(at + 22, 4), number(at + 26, 2));
        files.push((text(at + 30, name), text(at + 30 + name, size)));
        at += 30 + name + size;
    }
    files
}

/// The command that the page shows, without the name of the program and the files that it writes.
fn shown_command(page: &mut Page) -> Vec<String> {
    let text = page.browser.text("document.getElementById('commands').textContent.split('\\n')[0]");
    let words: Vec<String> = text.split(' ').skip(1).map(str::to_owned).collect();
    assert!(words.contains(&"--plan".to_owned()), "{text}");
    words
}

/// Copies a model to where the command runs, so that both know it by its plain name.
fn copied(model: &Path, desk: &Desk) -> PathBuf {
    let copy = desk.path(model.file_name().unwrap().to_str().unwrap());
    std::fs::copy(model, &copy).unwrap();
    copy
}

#[test]
fn what_is_downloaded_is_what_the_command_writes() {
    let Some(mut page) = Page::open(&[]) else { return };
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "swiftnet-c.tflite"]);
    let mut models = vec![desk.path("swiftnet-c.tflite")];
    let collection = sample(MODELS, 3).into_iter().filter_map(|name| shared(&format!("models/{name}")));
    models.extend(collection.map(|model| copied(&model, &desk)));
    page.set("budget", "");
    for model in models {
        let begun = Instant::now();
        page.drop_model(&model);
        page.wait_for_status("Done.");
        let taken = begun.elapsed().as_secs_f64();
        let command = shown_command(&mut page);
        let begun = Instant::now();
        let run = desk.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{run:?}");
        let of_command = begun.elapsed().as_secs_f64();
        eprintln!("{}: {taken:.2} s in the page, {of_command:.2} s by the command", model.display());
        let name = format!("smaller.{}", model.extension().unwrap().to_str().unwrap());
        for (text, name) in [("Smaller model", name.as_str()), ("Report", "report.html")] {
            let downloaded = page.download(&button(text), name);
            assert!(downloaded == std::fs::read(desk.path(name)).unwrap(), "{}: {name}", model.display());
        }
        let plan = page.download(&button("Plan"), "plan.json");
        let written = std::fs::read(desk.path("plan.json")).unwrap();
        assert_eq!(without_time(&plan), without_time(&written), "{}", model.display());
    }
    page.assert_quiet();
}

#[test]
fn the_table_is_that_of_fit_and_the_code_that_of_emit() {
    let Some(mut page) = Page::open(&[]) else { return };
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "net.tflite"]);
    for (field, value) in [("budget", "28KiB"), ("kernels", "cmsis-nn"), ("loops", "10")] {
        page.set(field, value);
    }
    page.drop_model(&desk.path("net.tflite"));
    page.wait_for_status("Done.");
    let fit = ["fit", "net.tflite", "--kernels", "cmsis-nn", "--budget", "28KiB", "-o", "code/", "--json"];
    let fit = desk.run(&fit).json();
    let rows = page.browser.value(
        "[...document.querySelectorAll('#ways tbody tr')].map(row => [row.cells[0].firstChild.textContent, row.cells[1].textContent.replaceAll(',', '')])",
    );
    let expected = fit["ways"].as_array().unwrap().iter().map(|way| {
        let need = way["need"].as_u64().map(|need| (need + way["margin"].as_u64().unwrap()).to_string());
        json!([way["name"], need.unwrap_or_else(|| way["not_possible"].as_str().unwrap().replace(',', ""))])
    });
    assert_eq!(rows, Value::Array(expected.collect()));
    let chosen = fit["chosen"].as_u64().unwrap();
    assert_eq!(
        page.browser.value("document.querySelector('#ways .chosen').rowIndex - 1").as_u64(),
        Some(chosen)
    );

    let row = format!("document.querySelectorAll('#ways tbody tr')[{chosen}].querySelector('button')");
    let last = page.browser.text("document.getElementById('commands').textContent.split('\\n')[1]");
    assert_eq!(last, "serenity emit c net.tflite --kernels cmsis-nn --loops=10% --budget 28KiB -o code");
    assert_same_code(&page.download(&row, "code.zip"), &desk);
    std::fs::remove_dir_all(desk.path("code")).unwrap();
    desk.run(&last.split(' ').skip(1).collect::<Vec<_>>());
    assert_same_code(&page.download(&button("C code"), "net.zip"), &desk);

    let command = shown_command(&mut page);
    desk.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
    let report = page.download(&button("Report"), "report.html");
    assert!(report == std::fs::read(desk.path("report.html")).unwrap());
    assert!(desk.read("report.html").contains("What would make it fit"));
    page.assert_quiet();
}

#[track_caller]
fn assert_same_code(archive: &[u8], desk: &Desk) {
    let files = unzipped(archive);
    assert_eq!(files.len(), std::fs::read_dir(desk.path("code")).unwrap().count());
    for (name, text) in files {
        assert!(text == desk.read(&name), "{name}");
    }
}

#[test]
fn work_can_be_cancelled_and_begun_again_by_keyboard() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.set("budget", "1KiB");
    page.browser.value("document.getElementById('network').value = 'swiftnet'");
    page.browser.value("document.getElementById('try').focus()");
    page.browser.press("Enter");
    // The report is there, and what takes longer is not.
    page.browser.wait_for("!document.getElementById('result').hidden");
    assert_eq!(page.browser.value("document.getElementById('run').disabled"), true);
    assert!(!page.download(&button("Smaller model"), "smaller.tflite").is_empty());
    page.browser.press("Escape");
    page.wait_for_status("Cancelled. swiftnet.tflite is still here");
    assert_eq!(page.browser.value("document.getElementById('result').hidden"), false);
    assert_eq!(page.browser.value(&format!("{} ?? null", button("C code"))), Value::Null);

    // Minutes of work, from the field of the budget.
    page.set("budget", "");
    page.browser.value("document.getElementById('network').value = 'nasnet-cifar'");
    page.browser.click("document.getElementById('try')");
    page.browser.wait_for("document.getElementById('name').textContent === 'nasnet-cifar.tflite'");
    page.browser.click("document.getElementById('cancel')");
    page.wait_for_status("Cancelled.");
    assert_eq!(page.browser.value("document.getElementById('result').hidden"), true);
    page.browser.value("document.getElementById('budget').focus()");
    page.browser.press("Enter");
    page.browser.wait_for("document.getElementById('cancel').hidden === false");
    page.browser.press("Escape");
    page.wait_for_status("Cancelled. nasnet-cifar.tflite is still here");
    page.browser.press("Enter");
    page.browser.wait_for("document.getElementById('cancel').hidden === false");
    // Another model takes the place of the one that is worked on.
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "net.tflite"]);
    page.drop_model(&desk.path("net.tflite"));
    page.wait_for_status("Done.");
    assert_eq!(page.browser.text("document.getElementById('name').textContent"), "net.tflite");
    page.assert_quiet();
}

#[test]
fn what_cannot_be_done_is_said_and_the_page_goes_on() {
    let Some(mut page) = Page::open(&["--js-flags=--wasm-max-mem-pages=1024"]) else { return };
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "net.tflite"]);
    desk.write("broken.tflite", "no model at all");
    desk.write("notes.txt", "no model at all");
    std::fs::write(desk.path("large.json"), vec![b' '; 60_000_000]).unwrap();
    for (file, message, help) in [
        ("broken.tflite", "broken.tflite", ""),
        ("notes.txt", "notes.txt: cannot tell the format from the name", ".onnx"),
        (
            "large.json",
            "large.json (60 MB) is too large for this tab: its memory is used up",
            "use the command serenity",
        ),
    ] {
        page.drop_model(&desk.path(file));
        page.browser.wait_for(
            "!document.getElementById('problem').hidden && document.getElementById('cancel').hidden",
        );
        let problem = page.problem();
        assert!(problem.contains(message) && problem.contains(help), "{file}: {problem}");
    }
    page.set("budget", "64K");
    page.drop_model(&desk.path("net.tflite"));
    page.browser.wait_for("document.getElementById('problem').innerText.includes('64KiB')");
    page.set("budget", "");
    page.browser.click("document.getElementById('run')");
    page.wait_for_status("Done.");
    page.assert_quiet();
}

#[test]
fn it_fits_a_phone_light_and_dark() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.set("budget", "100KiB");
    page.browser.value("document.getElementById('network').value = 'swiftnet-c'");
    page.browser.click("document.getElementById('try')");
    page.wait_for_status("Done.");
    for (width, theme, paper) in [
        (390, "light", "rgb(255, 255, 255)"),
        (390, "dark", "rgb(15, 19, 24)"),
        (1280, "dark", "rgb(15, 19, 24)"),
    ] {
        page.browser.resize(width, 844);
        page.browser.prefer(theme);
        assert_eq!(page.browser.value("getComputedStyle(document.body).backgroundColor"), paper);
        let wide = page.browser.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} at {width}");
    }
    page.assert_quiet();
}

#[test]
fn the_page_is_painted_before_the_tool_is_loaded() {
    let Some(mut page) = Page::open(&[]) else { return };
    // The first paint is recorded when the next frame begins.
    let paint = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1))))";
    let paints: Vec<f64> = (0..3)
        .map(|_| {
            page.browser.visit(page.server.address());
            page.wait_for_status("Ready.");
            page.browser.value(paint).as_f64().unwrap()
        })
        .collect();
    eprintln!("first paint after {paints:.0?} ms");
    let first = paints.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(first > 0.0 && first < 1000.0, "{paints:?}");
}
