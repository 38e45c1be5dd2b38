//! What holds of every page, whatever is on it.

use super::*;
use crate::testing::assert_well_formed;

const NASTY: &str = "</script><script>alert(1)</script>";

/// Two ops, three tensors, one of them with this name.
fn side(name: &str) -> Side {
    let item = |name: &str, bytes, producer, readers: &[usize]| Item {
        name: name.to_owned(),
        shape: Some(vec![1, bytes]),
        dtype: Some("int8".to_owned()),
        bytes,
        producer,
        readers: readers.to_vec(),
        ..Item::default()
    };
    let op = |at, during, reads: &[usize], writes: &[usize]| Step {
        name: format!("{name} {at}"),
        kind: "CONV_2D".to_owned(),
        from: at,
        to: at,
        during,
        after: 0,
        reads: reads.to_vec(),
        writes: writes.to_vec(),
    };
    Side {
        items: vec![
            item("x", 100, None, &[0]),
            item(name, 300, Some(0), &[1]),
            item("y\n\"'`&", 10, Some(1), &[]),
        ],
        ops: vec![op(0, 400, &[0], &[1]), op(1, 310, &[1], &[2])],
        live: vec![
            Live { items: vec![0], bytes: 100, from: 0, to: 0 },
            Live { items: vec![1], bytes: 300, from: 0, to: 1 },
            Live { items: vec![2], bytes: 10, from: 1, to: 1 },
        ],
        peak: 400,
        peak_op: 0,
        arena: Some(400),
        places: vec![
            ItemPlace { item: 0, offset: 300, bytes: 100, from: 0, to: 0 },
            ItemPlace { item: 1, offset: 0, bytes: 300, from: 0, to: 1 },
            ItemPlace { item: 2, offset: 290, bytes: 10, from: 1, to: 1 },
        ],
        bound: Some(390),
        arena_bound: Some(400),
        room: Some(500),
        ..Side::default()
    }
}

fn example(name: &str) -> Page {
    Page {
        title: name.to_owned(),
        facts: vec![("runtime".to_owned(), name.to_owned())],
        headline: Headline {
            counts: name.to_owned(),
            before: 500,
            after: 400,
            budget: Some(450),
            fit: Fit::Fits,
            fit_text: name.to_owned(),
            why: vec![format!("because of `{name}`")],
            ..Headline::default()
        },
        sides: [side(name), side(name)],
        changes: vec![Change { kind: name.to_owned(), text: name.to_owned(), ..Change::default() }],
        remedies: vec![Remedy {
            text: name.to_owned(),
            command: Some(name.to_owned()),
            needs: Some(1),
            fits: Some(true),
        }],
        device: Some(Device {
            before: Sections { head: 500, tail: 50, margin: 10 },
            after: Sections { head: 400, tail: 50, margin: 10 },
            boards: vec![Board { name: name.to_owned(), chip: name.to_owned(), ram: 512 }],
        }),
        traffic: Some(Traffic {
            compulsory: 110,
            sizes: vec![TrafficAt { on_chip: 1024, before: 10, after: None }],
        }),
        orders: Some(Orders {
            count: 10,
            peaks: vec![(400, 4), (500, 6)],
            own: 500,
            best: 400,
            share_best: 0.4,
        }),
        notes: vec![name.to_owned()],
        ..Page::default()
    }
}

/// The figures in a page.
fn figures(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once("id=\"serenity-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn no_name_leaves_its_place() {
    let long = "a".repeat(10_000);
    for name in [NASTY, "\"quotes\" 'and'\nnew\r\nlines\u{0}", &long, "", "<!--", "`", "]]>"] {
        let page = example(name);
        let html = page.to_html();
        assert_eq!(html.matches("<script").count(), 2, "{name:.20}");
        assert_eq!(html.matches("</script").count(), 2, "{name:.20}");
        assert!(!html.contains("alert(1)</script>"));
        let told = figures(&html)["sides"][0]["items"][1]["name"].as_str().unwrap().to_owned();
        assert!(told.len() < 500 && (name != NASTY || told == NASTY), "{told}");
        for (file, svg) in page.pictures() {
            assert!(!svg.contains("<script"), "{file}");
            assert_well_formed(&without_styles(&svg));
        }
    }
}

/// Style sheets hold characters that the strict look at XML takes for a fault.
fn without_styles(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").unwrap();
    format!("{before}{}", rest.split_once("</style>").unwrap().1)
}

#[test]
fn the_page_asks_for_nothing_and_holds_all_figures() {
    let html = example("net").to_html();
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let rest = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!rest.contains(outside), "{outside}");
    }
    let figures = figures(&html);
    assert_eq!(figures["headline"]["fits"], true);
    assert_eq!(figures["sides"][1]["ops"][0]["during"], 400);
    assert_eq!(figures["orders"]["peaks"][1][0], 500);
    assert_eq!(html, example("net").to_html());
}

#[test]
fn what_does_not_count_everything_is_no_pair() {
    let mut page = example("net");
    page.headline.at_least = true;
    let html = page.to_html();
    assert!(html.contains("<span class=\"new\">at least 400 B</span>"));
    assert!(!html.contains("aria-label=\"becomes\"") && !html.contains("class=\"bars\""));
    page.headline.after = 0;
    assert!(page.to_html().contains("<span class=\"new\">unknown</span>"));
}

#[test]
fn an_empty_page_and_absurd_figures_are_fine() {
    Page::default().to_html();
    let mut page = example("net");
    page.sides[0].peak = u64::MAX;
    page.sides[0].live[0].bytes = u64::MAX / 4;
    page.headline.before = u64::MAX;
    page.orders = Some(Orders::default());
    page.traffic = Some(Traffic::default());
    page.to_html();
    assert!(page.pictures().len() >= 6);
}

#[test]
fn what_shares_bytes_is_drawn_as_such() {
    let html = example("net").to_html();
    assert!(
        html.contains("class=\"over\" data-a=\"1\" data-b=\"2\""),
        "the result lies in the last bytes of what it is made of"
    );
}
