//! `serenity report` and `optimize --report`: the page, as a program and as a person sees it.

use crate::browser::Browser;
use crate::float_io::with_float_io;
use crate::harness::{Desk, Run};
use serde_json::{Value, json};

const SCRIPT: &str = "<script>alert(1)</script>";
const QUOTES: &str = "say \"cheese\",\n'please' & `now`";

/// A network of `cells` cells of four ops: a fork, two branches of different sizes and a join, with a connection over
/// every third cell.
fn network(cells: u64) -> String {
    let mut tensors =
        vec![json!({"id": 0, "name": "image", "bytes": 9000, "shape": [1, 30, 100, 3], "dtype": "int8"})];
    let mut ops = Vec::new();
    let mut tensor = |name: String, bytes: u64| {
        tensors.push(json!({"id": tensors.len(), "name": name, "bytes": bytes}));
        tensors.len() as u64 - 1
    };
    // Computed first and read last: another order needs less.
    let early = tensor("early".to_owned(), 20_000);
    ops.push(json!({"name": "early", "type": "CONV_2D", "inputs": [0], "outputs": [early]}));
    let (mut last, mut kept) = (0, 0);
    for cell in 0..cells {
        let size = 1000 + 700 * (cell % 5);
        let name = |what: &str| format!("network/stage/cell_{cell}/{what}");
        let fork = tensor(if cell == 1 { SCRIPT.to_owned() } else { name("fork") }, size);
        let wide = tensor(if cell == 2 { QUOTES.to_owned() } else { name("wide") }, 3 * size);
        let slim = tensor(if cell == 3 { "x".repeat(10_000) } else { name("slim") }, size / 2);
        let join = tensor(name("join"), size);
        for (what, kind, inputs, output) in [
            ("fork", "CONV_2D", vec![last], fork),
            ("wide", "CONV_2D", vec![fork], wide),
            ("slim", "MAX_POOL_2D", vec![fork], slim),
            ("join", "ADD", vec![wide, slim, kept], join),
        ] {
            ops.push(json!({"name": name(what), "type": kind, "inputs": inputs, "outputs": [output]}));
        }
        last = join;
        if cell % 3 == 0 {
            kept = join;
        }
    }
    let end = tensor("end".to_owned(), 100);
    ops.push(json!({"name": "end", "type": "ADD", "inputs": [last, early], "outputs": [end]}));
    json!({"name": "nasty", "tensors": tensors, "ops": ops, "inputs": [0], "outputs": [end]}).to_string()
}

/// The figures in a page.
fn figures(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"serenity-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn report(desk: &Desk, input: &str, more: &[&str]) -> Run {
    desk.run(&[&["report", input, "-o", "page.html", "--orders", "50"], more].concat())
}

#[test]
fn the_page_says_what_the_command_says() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite"]);
    let told = report(&desk, "c.tflite", &["--json"]).json();
    let page = figures(&desk.read("page.html"));
    let best = desk.run(&["optimize", "c.tflite", "--json"]).json();
    for side in ["before", "after"] {
        let at = usize::from(side == "after");
        assert_eq!(page["headline"][side], best[side]["total"]["arm32"]);
        assert_eq!(told[side], best[side]["total"]["arm32"]);
        assert_eq!(page["sides"][at]["peak"], best[side]["peak"]);
        assert_eq!(page["sides"][at]["arena"], best[side]["arena"]);
        let highest = page["sides"][at]["places"].as_array().unwrap().iter();
        let highest =
            highest.map(|place| place["offset"].as_u64().unwrap() + place["bytes"].as_u64().unwrap()).max();
        assert_eq!(highest, best[side]["arena"].as_u64(), "the rectangles reach as high as the arena");
    }
    assert_eq!(page["sides"][1]["arena_bound"], best["bound"]);
    let looked = desk.run(&["inspect", "c.tflite", "--json"]).json();
    let during = |steps: &Value, key: &str| -> Vec<Value> {
        steps.as_array().unwrap().iter().map(|step| step[key].clone()).collect()
    };
    assert_eq!(during(&page["sides"][0]["ops"], "during"), during(&looked["steps"], "during"));
    assert_eq!(during(&page["sides"][0]["ops"], "after"), during(&looked["steps"], "after"));
}

#[test]
fn in_every_side_what_is_alive_adds_up_to_what_is_in_use() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-a", "--int8", "-o", "a.tflite"]);
    for input in ["a.tflite", "zoo:swiftnet-b", "zoo:darts-cell"] {
        report(&desk, input, &[]);
        let page = figures(&desk.read("page.html"));
        for side in page["sides"].as_array().unwrap() {
            for op in side["ops"].as_array().unwrap() {
                let alive = side["live"].as_array().unwrap().iter();
                let alive = alive.filter(|live| {
                    live["from"].as_u64() <= op["to"].as_u64() && live["to"].as_u64() >= op["from"].as_u64()
                });
                let sum: u64 = alive.map(|live| live["bytes"].as_u64().unwrap()).sum();
                assert_eq!(sum, op["during"].as_u64().unwrap(), "{input}: {op}");
            }
        }
    }
}

#[test]
fn optimize_writes_the_page_beside_the_model_and_the_same_bytes_every_time() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite"]);
    let optimize = |page: &str| {
        desk.run(&["optimize", "c.tflite", "-o", "small.tflite", "--report", page, "--svg", "pictures"])
    };
    let run = optimize("one.html");
    assert!(run.code == 0 && run.stdout.contains("one.html"), "{run:?}");
    optimize("two.html");
    assert_eq!(desk.read("one.html"), desk.read("two.html"));
    assert_eq!(desk.files(), ["c.tflite", "one.html", "pictures", "small.tflite", "two.html"]);
    let pictures: Vec<String> = [
        "memory-before",
        "memory-after",
        "arena-before",
        "arena-after",
        "network-before",
        "network-after",
        "device",
        "traffic",
        "orders",
    ]
    .map(|name| desk.read(&format!("pictures/{name}.svg")))
    .to_vec();
    assert!(pictures.iter().all(|svg| svg.starts_with("<svg ") && svg.ends_with("</svg>\n")));
}

#[test]
fn the_plan_that_a_model_came_with_is_drawn() {
    let desk = Desk::new();
    let kernels = ["--kernels", "reference"];
    desk.run(&["zoo", "export", "swiftnet-a", "--int8", "-o", "a.tflite"]);
    let optimize = ["optimize", "a.tflite", "-o", "small.tflite", "--json"];
    let best = desk.run(&[&optimize[..], &kernels].concat()).json();
    report(&desk, "small.tflite", &kernels);
    let html = desk.read("page.html");
    let before = &figures(&html)["sides"][0];
    assert_eq!(before["arena"], best["after"]["arena"]);
    assert!(html.contains("As the plan in the model says."));
    // Outputs over inputs are drawn as such.
    let places: Vec<[u64; 4]> = before["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| ["offset", "bytes", "from", "to"].map(|key| place[key].as_u64().unwrap()))
        .collect();
    let shares =
        |a: &[u64; 4], b: &[u64; 4]| a[0] < b[0] + b[1] && b[0] < a[0] + a[1] && a[2] <= b[3] && b[2] <= a[3];
    let pairs = (0..places.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let overlaps = pairs.filter(|&(a, b)| shares(&places[a], &places[b])).count();
    let first_side = html.split("data-kind=\"arena\"").nth(1).unwrap();
    assert_eq!(first_side.split("</svg>").next().unwrap().matches("data-b=").count(), overlaps);
}

#[test]
fn a_budget_is_answered_with_what_would_help() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite"]);
    let run = report(&desk, "c.tflite", &["--budget", "55KB"]);
    assert!(run.code == 1 && run.stdout.contains("bytes over"), "{run:?}");
    let page = figures(&desk.read("page.html"));
    assert_eq!(page["headline"]["fits"], false);
    let remedies = page["remedies"].as_array().unwrap();
    assert!(remedies.iter().all(|remedy| remedy["text"].is_string()), "{remedies:?}");
    // What is said to fit does: the first of them is done as it says.
    let cure = &remedies[0];
    let command: Vec<&str> = cure["command"].as_str().unwrap().split(' ').skip(1).collect();
    let cured = desk.run(&[&command[..], &["--json"]].concat());
    assert_eq!((cured.code, &cure["fits"]), (0, &json!(true)));
    assert!(cured.json()["after"]["total"]["arm32"].as_u64() <= cure["needs"].as_u64(), "{cure}");
    let run = report(&desk, "c.tflite", &["--budget", "1MB", "--json"]);
    assert_eq!((run.code, run.json()["fits"].clone()), (0, json!(true)));
}

/// The page lists combinations and C code, and calls only that impossible which no way can do.
#[test]
fn remedies_are_combined_and_only_a_floor_of_everything_is_impossible() {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "mobilenet?resolution=96", "-o", "int8.tflite", "--int8"]);
    assert_eq!(run.code, 0, "{run:?}");
    let bytes = std::fs::read(desk.path("int8.tflite")).unwrap();
    std::fs::write(desk.path("net.tflite"), with_float_io(bytes)).unwrap();
    let needs = |options: &[&str]| {
        let object = desk.run(&[&["optimize", "net.tflite", "--json"], options].concat()).json();
        let whole = &object["after"]["total"];
        whole["arm32"].as_u64().unwrap() + whole["margin"].as_u64().unwrap()
    };
    let (together, apart) =
        (needs(&["--int8-io", "--loops"]), needs(&["--loops"]).min(needs(&["--int8-io"])));
    assert!(together < apart * 9 / 10, "{together} {apart}");
    let remedies = |budget: u64| {
        let run = report(&desk, "net.tflite", &["--budget", &budget.to_string()]);
        assert_eq!(run.code, 1, "{run:?}");
        figures(&desk.read("page.html"))["remedies"].as_array().unwrap().clone()
    };
    let says = |remedy: &Value, part: &str| remedy["text"].as_str().unwrap().contains(part);
    let fitting = |remedies: &[Value], command: &str| {
        let fits =
            |one: &&Value| one["fits"] == true && one["command"].as_str().unwrap().starts_with(command);
        remedies
            .iter()
            .find(fits)
            .unwrap_or_else(|| panic!("no `{command}` that fits in {remedies:#?}"))
            .clone()
    };
    // Estimates may be a little off, so a little room is left.
    let tight = remedies(together + together / 10);
    let both = fitting(&tight, "serenity optimize net.tflite --int8-io --loops");
    assert!(says(&both, "loops, int8 io") || says(&both, "int8 io, loops"), "{both}");
    let code = fitting(&tight, "serenity emit c net.tflite");
    for cure in [both, code] {
        let command: Vec<&str> = cure["command"].as_str().unwrap().split(' ').skip(1).collect();
        assert_eq!(desk.run(&command).code, 0, "{cure}");
    }
    assert!(!tight.iter().any(|remedy| says(remedy, "no way can fit")), "{tight:#?}");
    // The input has 96 x 96 x 3 bytes, which need not be in memory at once.
    let little = remedies(27_000);
    let pushed = fitting(&little, "serenity emit c net.tflite --loops=50% --stream rows");
    assert!(says(&pushed, "rows pushed") && says(&pushed, "a row of the input at a time"), "{pushed}");
    assert!(!little.iter().any(|remedy| says(remedy, "no way can fit")));
    let hopeless = desk.run(&["fit", "net.tflite", "--budget", "27000", "--forbid", "stream"]);
    assert!(hopeless.stdout.contains("input itself takes 27,648 bytes, so no way can fit"), "{hopeless:?}");
}

#[test]
fn what_cannot_be_written_is_refused_before_the_work() {
    let desk = Desk::new();
    for (args, message) in [
        (&["report", "zoo:swiftnet-a", "-o", "page.txt"][..], "end the name in .html"),
        (&["report", "zoo:swiftnet-a", "-o", "no/such/page.html"], "there is no folder"),
        (&["optimize", "zoo:swiftnet-a", "--report", "page.pdf"], "end the name in .html"),
        (&["report", "zoo:swiftnet-a", "-o", "page.html", "--loops"], "--loops is for .tflite models"),
    ] {
        let run = desk.run(args);
        assert!(run.code == 2 && run.stderr.contains(message), "{run:?}");
    }
    assert_eq!(desk.files(), Vec::<String>::new());
}

#[test]
fn a_page_of_800_ops_is_small() {
    let desk = Desk::new();
    desk.write("net.json", &network(200));
    let told = report(&desk, "net.json", &["--json"]).json();
    let bytes = told["bytes"].as_u64().unwrap();
    assert_eq!(bytes, desk.read("page.html").len() as u64);
    assert!(bytes < 1_500_000, "{bytes}");
}

/// A model that cannot gain anything: one op after the other.
fn chain() -> String {
    let tensor = |id: u64, bytes: u64| json!({"id": id, "name": format!("t{id}"), "bytes": bytes});
    let ops = (0..3)
        .map(|at| json!({"name": format!("op{at}"), "type": "CONV_2D", "inputs": [at], "outputs": [at + 1]}));
    let ops: Vec<Value> = ops.collect();
    let tensors = [tensor(0, 20_000), tensor(1, 40_000), tensor(2, 30_000), tensor(3, 100)];
    json!({"name": "chain", "tensors": tensors, "ops": ops, "inputs": [0], "outputs": [3]}).to_string()
}

#[test]
fn a_model_that_gains_nothing_has_one_picture_of_each_kind() {
    let desk = Desk::new();
    desk.write("chain.json", &chain());
    desk.write("net.json", &network(5));
    for (input, pictures) in [("chain.json", 1), ("net.json", 2)] {
        report(&desk, input, &[]);
        let html = desk.read("page.html");
        let headline = &figures(&html)["headline"];
        assert_eq!(headline["before"] == headline["after"], pictures == 1, "{input}: {headline}");
        for kind in ["data-kind=\"memory\"", "data-kind=\"arena\"", "class=\"net\""] {
            assert_eq!(html.matches(kind).count(), pictures, "{input}: {kind}");
        }
        assert_eq!(html.contains("Nothing was gained, so each picture is drawn once"), pictures == 1);
    }
    let Some(mut browser) = Browser::open() else { return };
    report(&desk, "chain.json", &[]);
    browser.resize(1280, 800);
    browser.show(&desk.path("page.html"));
    browser.click("document.querySelector('.net [data-o=\"1\"]')");
    assert_eq!(browser.text("document.getElementById('in-use').textContent"), "70,000");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn what_would_make_it_fit_is_on_the_first_screen_in_the_unit_of_the_budget() {
    let Some(mut browser) = Browser::open() else { return };
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite"]);
    browser.resize(1280, 800);
    for (budget, other) in [("55KB", "KiB"), ("54KiB", "KB")] {
        let run = report(&desk, "c.tflite", &["--budget", budget]);
        assert!(run.code == 1 && !run.stdout.contains(&format!(" {other}")), "{run:?}");
        browser.show(&desk.path("page.html"));
        let bottom =
            |query: &str| format!("document.querySelector('{query}').getBoundingClientRect().bottom");
        for query in [".fit.bad", ".remedies li:first-child pre", ".remedies"] {
            let bottom = browser.value(&bottom(query)).as_f64().unwrap();
            assert!(bottom > 0.0 && bottom < 800.0, "{query} ends at {bottom}");
        }
        // On-chip memories have KiB in any case.
        let sizes = format!("document.body.innerText.replace(/\\d+ KiB\\n/g, '').match(/\\d {other}\\b.*/g)");
        assert_eq!(browser.value(&sizes), Value::Null, "{budget}");
    }
}

/// Texts beside plots that are too small, stick out or hide each other; and rows of tables with broken words.
const ILLEGIBLE: &str = "new Promise(done => { document.querySelectorAll('details').forEach(e => { e.open = true; }); setTimeout(() => { \
    const bad = []; for (const plot of document.querySelectorAll('.plot')) for (const group of ['.values span', '.below span', '.level span']) { \
    const texts = [...plot.querySelectorAll(group)].filter(e => e.offsetWidth).map(e => ({ e, box: e.getBoundingClientRect() })); \
    texts.forEach(({ e, box }, at) => { if (parseFloat(getComputedStyle(e).fontSize) < 10 || box.left < 0 || box.right > innerWidth) bad.push(e.textContent); \
    for (const other of texts.slice(0, at)) if (box.left < other.box.right + 2 && other.box.left < box.right + 2 && box.top < other.box.bottom && other.box.top < box.bottom) bad.push(`${other.e.textContent} over ${e.textContent}`); }); } \
    for (const row of document.querySelectorAll('[data-table] tbody tr')) if (row.offsetHeight > 400) bad.push(row.textContent.slice(0, 80)); \
    done(bad); }, 100); })";

#[test]
fn a_phone_shows_every_label_and_no_table_widens_the_page() {
    let Some(mut browser) = Browser::open() else { return };
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite"]);
    desk.write("net.json", &network(20));
    browser.resize(390, 844);
    for (input, options) in [
        ("c.tflite", &["--budget", "60KiB"][..]),
        ("net.json", &[]),
        ("zoo:randwire-cifar10", &["--rewrite", "none"]),
    ] {
        report(&desk, input, options);
        browser.show(&desk.path("page.html"));
        assert_eq!(browser.value(ILLEGIBLE), json!([]), "{input}");
        assert_eq!(browser.value("document.documentElement.scrollWidth"), 390, "{input}");
    }
}

/// Everything that somebody does with the page of a network of 600 ops, with names that would break a careless one.
#[test]
fn the_page_works_in_a_real_browser() {
    let Some(mut browser) = Browser::open() else { return };
    let desk = Desk::new();
    desk.write("net.json", &network(150));
    report(&desk, "net.json", &["--budget", "20KB"]);
    let looked = desk.run(&["inspect", "net.json", "--json"]).json();
    browser.resize(1280, 900);
    let mut paints = Vec::new();
    for _ in 0..3 {
        browser.show(&desk.path("page.html"));
        assert_eq!(browser.complaints(), Vec::<String>::new());
        // The first paint is recorded when the next frame begins.
        let paint = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1))))";
        paints.extend(browser.value(paint).as_f64());
    }
    let first_paint = paints.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(first_paint > 0.0 && first_paint < 2000.0, "{paints:?}");
    eprintln!("first paint after {first_paint:.0} ms");
    assert_eq!(
        browser.value(
            "performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"
        ),
        0
    );
    assert_eq!(browser.value("document.scripts.length"), 2);

    points_at_tensors(&mut browser);
    clicks_on_the_peak(&mut browser, &looked);
    filters_and_searches(&mut browser);
    uses_the_keyboard(&mut browser, &looked);

    for width in [390, 768] {
        browser.resize(width, 844);
        let wide = browser.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} at {width}");
    }
    browser.prefer("dark");
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(15, 19, 24)");
    let on_paper = json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", &on_paper);
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    browser.call("Emulation.setEmulatedMedia", &json!({"media": ""}));
    browser.prefer("light");
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

const DATA: &str = "JSON.parse(document.getElementById('serenity-data').textContent)";

/// The tip says name and bytes of whatever is under the mouse.
fn points_at_tensors(browser: &mut Browser) {
    for name in ["network/stage/cell_0/fork", SCRIPT] {
        let place = format!(
            "{DATA}.sides[0].places.findIndex(p => p.item === {DATA}.sides[0].items.findIndex(i => i.name.startsWith({name:?})))"
        );
        // As wide as can be, so that the mouse finds it.
        browser.click("document.querySelector('[data-zoom=all]')");
        let rect = format!("document.querySelector(`.plot[data-side='0'] [data-a='${{{place}}}']`)");
        browser.point_at(&rect);
        let shown = browser.text("document.getElementById('tip').textContent");
        let bytes =
            browser.value(&format!("{DATA}.sides[0].items.find(i => i.name.startsWith({name:?})).bytes"));
        let bytes = grouped(bytes.as_u64().unwrap());
        assert!(shown.contains(name) && shown.contains(&format!("{bytes} bytes")), "{shown}");
    }
}

/// 1,655,808.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let threes: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    threes.iter().map(|three| std::str::from_utf8(three).unwrap()).collect::<Vec<_>>().join(",")
}

/// What is alive at the peak is what `inspect --json` says.
fn clicks_on_the_peak(browser: &mut Browser, looked: &Value) {
    browser.click("document.querySelector('[data-zoom=peak]')");
    let step = looked["peak_step"].as_u64().unwrap();
    // The middle of the column of the op, wherever the zoom has put it.
    browser.value(&format!(
        "(() => {{ const svg = document.querySelector(\".memory[data-side='0'] svg\"); svg.scrollIntoView({{block: 'center'}}); const [from,, wide] = svg.getAttribute('viewBox').split(' ').map(Number); \
         const box = svg.getBoundingClientRect(); document.getElementById('mark')?.remove(); const mark = document.createElement('div'); mark.id = 'mark'; \
         mark.style.cssText = `position:fixed;pointer-events:none;width:2px;height:2px;left:${{box.left + ({step} + 0.5 - from) / wide * box.width - 1}}px;top:${{box.bottom - 6}}px`; document.body.append(mark); }})()"
    ));
    let at = browser.value("(() => { const b = document.getElementById('mark').getBoundingClientRect(); return [b.left + 1, b.top + 1]; })()");
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        browser.call(
            "Input.dispatchMouseEvent",
            &json!({"type": kind, "x": at[0], "y": at[1], "button": button, "clickCount": 1}),
        );
    }
    assert_eq!(browser.text("document.getElementById('panel').dataset.op"), step.to_string());
    assert_eq!(
        browser.text("document.getElementById('in-use').textContent"),
        grouped(looked["peak"].as_u64().unwrap())
    );
    let alive = looked["alive_at_peak"].as_array().unwrap();
    let mut expected: Vec<(String, String)> = alive
        .iter()
        .map(|one| {
            let name: String =
                one["name"].as_str().unwrap().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            (name.chars().take(100).collect(), grouped(one["bytes"].as_u64().unwrap()))
        })
        .collect();
    let rows = browser.value("[...document.querySelectorAll('#panel tbody tr')].map(row => [row.title, row.lastChild.textContent])");
    let mut shown: Vec<(String, String)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row[0].as_str().unwrap().chars().take(100).collect(), row[1].as_str().unwrap().to_owned())
        })
        .collect();
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
}

fn filters_and_searches(browser: &mut Browser) {
    let opacity = |query: &str| format!("getComputedStyle(document.querySelector(\"{query}\")).opacity");
    browser.click("document.getElementById('only-peak')");
    assert_eq!(browser.value(&opacity(".arena[data-side='0'] .p")), "1");
    assert_eq!(browser.value(&opacity(".arena[data-side='0'] rect:not(.p):not(.cursor)")), "0.07");
    assert_eq!(browser.value(&opacity(".memory[data-side='0'] path:not(.p)")), "0.07");
    browser.click("document.getElementById('only-peak')");
    assert_eq!(browser.value(&opacity(".memory[data-side='0'] path:not(.p)")), "1");
    browser.click("document.getElementById('find')");
    browser.call("Input.insertText", &json!({"text": "cell_77/"}));
    assert_eq!(browser.text("document.getElementById('found').textContent"), "4 and 4 found");
    assert_eq!(browser.value("document.querySelectorAll('.net .found').length"), 8);
    // What was found is in sight.
    let inside = "(() => { const box = document.querySelector('.net').getBoundingClientRect(), found = document.querySelector('.net .found').getBoundingClientRect(); \
                  return found.left > box.left && found.right < box.right && found.top > box.top && found.bottom < box.bottom; })()";
    assert_eq!(browser.value(inside), true);
}

fn uses_the_keyboard(browser: &mut Browser, looked: &Value) {
    browser.press("Escape");
    assert_eq!(browser.value("document.getElementById('panel').hidden"), true);
    browser.value("document.querySelector(\".arena[data-side='0'] svg\").focus()");
    browser.press("Enter");
    let peak = looked["peak_step"].as_u64().unwrap();
    assert_eq!(browser.text("document.getElementById('panel').dataset.op"), peak.to_string());
    browser.press("ArrowRight");
    assert_eq!(browser.text("document.getElementById('panel').dataset.op"), (peak + 1).to_string());
    let details = "document.querySelector(\"[data-table=ops][data-side='0']\")";
    browser.value(&format!("{details}.querySelector('summary').focus()"));
    browser.value(&format!("{details}.open = true"));
    browser.value("new Promise(done => setTimeout(done, 50))");
    let rows = browser.value(&format!("{details}.querySelectorAll('tbody tr').length"));
    assert_eq!(rows, looked["ops"]);
}
