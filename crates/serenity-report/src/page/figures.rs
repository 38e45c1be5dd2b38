//! All figures of a page as JSON, for the script and for whoever wants to compute with them.

use super::{Drawn, Fit, Page, Pictures, Side};
use crate::names::full_name;
use serde_json::{Value, json};

/// The content of a script element: no text in it can end the element.
pub(crate) fn figures(page: &Page, pictures: &Pictures) -> String {
    let headline = &page.headline;
    let sides = page.sides.iter().zip(&pictures.names).map(|(side, names)| of_side(side, names));
    let changes = page.changes.iter().map(|change| {
        json!({"kind": change.kind, "text": change.text, "gain": change.gain, "gained": change.gained, "cost": change.cost})
    });
    let remedies = page.remedies.iter().map(|remedy| {
        json!({"text": remedy.text, "command": remedy.command, "needs": remedy.needs, "fits": remedy.fits})
    });
    let value = json!({
        "schema": "serenity.page/1",
        "title": full_name(&page.title),
        "facts": page.facts.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect::<serde_json::Map<String, Value>>(),
        "headline": {
            "counts": headline.counts,
            "at_least": headline.at_least,
            "before": headline.before,
            "after": headline.after,
            "budget": headline.budget,
            "fits": match headline.fit {
                Fit::NotAsked | Fit::Unknown => None,
                Fit::Fits => Some(true),
                Fit::TooLarge => Some(false),
            },
            "proof": headline.proof,
            "why": headline.why,
        },
        "sides": sides.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
        "remedies": remedies.collect::<Vec<_>>(),
        "device": page.device.as_ref().map(device),
        "traffic": page.traffic.as_ref().map(|traffic| json!({
            "compulsory": traffic.compulsory,
            "sizes": traffic.sizes.iter().map(|at| json!({"on_chip": at.on_chip, "before": at.before, "after": at.after})).collect::<Vec<_>>(),
        })),
        "orders": page.orders.as_ref().map(|orders| json!({
            "count": orders.count,
            "peaks": orders.peaks,
            "own": orders.own,
            "best": orders.best,
            "share_best": orders.share_best,
        })),
        "notes": page.notes,
    });
    value.to_string().replace('<', "\\u003c")
}

fn device(device: &super::Device) -> Value {
    let sections =
        |s: super::Sections| json!({"head": s.head, "tail": s.tail, "margin": s.margin, "sum": s.sum()});
    json!({
        "before": sections(device.before),
        "after": sections(device.after),
        "boards": device.boards.iter().map(|board| json!({"name": board.name, "chip": board.chip, "ram": board.ram})).collect::<Vec<_>>(),
    })
}

/// Adds a short name if the name is not short: large networks have thousands of them.
fn with_short(mut value: Value, short: &str) -> Value {
    if value["name"] != short {
        value["short"] = short.into();
    }
    value
}

fn of_side(side: &Side, names: &Drawn) -> Value {
    let colours = side.colours();
    let items = side.items.iter().enumerate().map(|(at, item)| {
        let mut value = json!({
            "name": full_name(&item.name),
            "shape": item.shape,
            "dtype": item.dtype,
            "bytes": item.bytes,
            "role": item.role.name(),
            "producer": item.producer,
            "readers": item.readers,
        });
        if colours[at].is_some() {
            value["class"] = super::colours::class(colours[at], at).into();
        }
        with_short(value, &names.items[at])
    });
    let ops = side.ops.iter().zip(&names.ops).map(|(op, short)| {
        let value = json!({
            "name": full_name(&op.name),
            "type": op.kind,
            "from": op.from,
            "to": op.to,
            "during": op.during,
            "after": op.after,
            "reads": op.reads,
            "writes": op.writes,
        });
        with_short(value, short)
    });
    let live = side
        .live
        .iter()
        .map(|live| json!({"items": live.items, "bytes": live.bytes, "from": live.from, "to": live.to}));
    let places = side
        .places
        .iter()
        .map(|p| json!({"item": p.item, "offset": p.offset, "bytes": p.bytes, "from": p.from, "to": p.to}));
    json!({
        "caption": side.caption,
        "peak": side.peak,
        "peak_op": side.peak_op,
        "arena": side.arena,
        "bound": side.bound,
        "arena_bound": side.arena_bound,
        "room": side.room,
        "length": side.length(),
        "items": items.collect::<Vec<_>>(),
        "ops": ops.collect::<Vec<_>>(),
        "live": live.collect::<Vec<_>>(),
        "places": places.collect::<Vec<_>>(),
    })
}
