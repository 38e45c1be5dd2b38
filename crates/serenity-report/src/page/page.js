// What the page does when somebody points, clicks or types. All pictures are there without it; everything it says comes from the JSON in the page.
"use strict";
(() => {
const all = (query, from = document) => [...from.querySelectorAll(query)];
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("serenity-data").textContent);
// What is the same on both sides is drawn once, as the second.
const isOne = data.headline.before === data.headline.after;
const names = isOne ? ["", "before and after"] : ["before", "after"];
data.sides.forEach(({ items, ops }) => [items, ops].forEach((list) => list.forEach((it, at) => {
  it.short ??= it.name;
  it.class ??= `n${at % 2}`;
})));
// Sizes are in the unit of the budget, as in size.rs.
const { budget } = data.headline;
const isBinary = budget > 0 && budget % 1024 === 0 && budget % 1000 !== 0;
const SVG = "http://www.w3.org/2000/svg";
document.documentElement.classList.add("scripted");

// Texts are always set as text: names come from the model and may hold anything.
const element = (tag, attributes = {}, ...children) => {
  const made = tag === "svg" || tag === "rect" ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const swatch = (name) => element("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, element("rect", { class: name, width: 10, height: 10, rx: 2 }));
const opName = (side, op) => `${op + 1} ${data.sides[side].ops[op].short}`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// What shows one tensor, by side and tensor.
const marks = data.sides.map((side) => side.items.map(() => []));
all("[data-side]").filter((e) => e.matches(".plot,.net")).forEach((holder) => {
  const side = Number(holder.dataset.side), figures = data.sides[side];
  all("[data-l]", holder).forEach((e) => figures.live[e.dataset.l].items.forEach((item) => marks[side][item].push(e)));
  all("[data-a]", holder).filter((e) => !e.dataset.b).forEach((e) => marks[side][figures.places[e.dataset.a].item].push(e));
  all("[data-i]", holder).forEach((e) => marks[side][e.dataset.i].push(e));
});
let lit = [];
const light = (side, items) => {
  lit.forEach((e) => e.classList.remove("on"));
  lit = items.flatMap((item) => marks[side][item]);
  lit.forEach((e) => e.classList.add("on"));
};

// The tip beside the mouse.
const tip = byId("tip");
const line = (text) => element("div", {}, text);
const describe = (side, item) => {
  const figures = data.sides[side], it = figures.items[item];
  const lines = [element("b", {}, it.name)];
  const shape = it.shape ? `[${it.shape.join(" × ")}] ` : "";
  lines.push(line(`${shape}${it.dtype || ""}`.trim()), line(`${grouped(it.bytes)} bytes, ${it.role}`));
  if (it.producer !== null) lines.push(line(`written by ${opName(side, it.producer)}`));
  if (it.readers.length) {
    const shown = it.readers.slice(0, 4).map((op) => opName(side, op)).join(", ");
    lines.push(line(`read by ${shown}${it.readers.length > 4 ? ` and ${it.readers.length - 4} more` : ""}`));
  }
  return lines.filter((e) => e.textContent);
};
const showTip = (x, y, content) => {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
  const top = y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16;
  tip.style.left = `${clamp(left, 8, Math.max(8, innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(8, top)}px`;
};
const hideTip = () => {
  tip.hidden = true;
  if (!pinned) light(0, []);
};

// What an element of a picture stands for.
const meaning = (side, e) => {
  const figures = data.sides[side];
  if (e.dataset.l !== undefined) {
    const live = figures.live[e.dataset.l], item = live.items[0];
    const lines = describe(side, item);
    if (live.items.length > 1) lines.push(line(`then, in the same bytes: ${live.items.slice(1).map((i) => figures.items[i].short).join(", ")}`));
    if (live.bytes !== figures.items[item].bytes) lines.push(line(`of it here: ${grouped(live.bytes)} bytes`));
    lines.push(line(`alive from op ${opAt(side, live.from) + 1} to ${opAt(side, live.to) + 1}`));
    return { items: live.items, lines };
  }
  if (e.dataset.a !== undefined) {
    const place = figures.places[e.dataset.a];
    const lines = describe(side, place.item);
    lines.push(line(`at bytes ${grouped(place.offset)} to ${grouped(place.offset + place.bytes)}, from op ${opAt(side, place.from) + 1} to ${opAt(side, place.to) + 1}`));
    if (e.dataset.b === undefined) return { items: [place.item], lines };
    const other = figures.places[e.dataset.b];
    lines.push(line(`shares these bytes with ${figures.items[other.item].name}`));
    return { items: [place.item, other.item], lines };
  }
  if (e.dataset.o !== undefined) {
    const op = figures.ops[e.dataset.o];
    return { items: op.writes, lines: [element("b", {}, op.name), line(`${op.type}, op ${Number(e.dataset.o) + 1} of ${figures.ops.length}`), line(`${grouped(op.during)} bytes in use while it runs`)] };
  }
  return { items: [Number(e.dataset.i)], lines: describe(side, Number(e.dataset.i)) };
};
const target = (event) => event.target.closest && event.target.closest("[data-l],[data-a],[data-o],[data-i]");
const sideOf = (e) => Number(e.closest("[data-side]").dataset.side);
document.addEventListener("pointermove", (event) => {
  const e = target(event);
  if (!e || event.pointerType === "touch" || dragging) return hideTip();
  const side = sideOf(e), { items, lines } = meaning(side, e);
  if (!pinned) light(side, items);
  showTip(event.clientX, event.clientY, lines);
});
document.addEventListener("pointerleave", hideTip);

// Time: which op runs when, and which part of it is shown.
const opAt = (side, unit) => {
  const ops = data.sides[side].ops;
  let low = 0, high = ops.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ops[middle].to < unit) low = middle + 1;
    else high = middle;
  }
  return low;
};
const plots = all(".plot[data-side]").map((holder) => ({ holder, side: Number(holder.dataset.side), svg: holder.querySelector("svg"), below: holder.querySelector(".below") }));
plots.forEach((plot) => { plot.top = plot.full = Number(plot.holder.dataset.top); });
const shown = data.sides.map((side) => ({ from: 0, wide: side.length }));
const showBox = ({ svg, side, top, full }) => {
  const { from, wide } = shown[side], high = (1000 * top) / full;
  svg.setAttribute("viewBox", `${from} ${1000 - high} ${wide} ${high}`);
};
// Another value at the upper edge: axis, lines and picture follow.
const showScale = (plot, top) => {
  plot.top = top;
  showBox(plot);
  const values = plot.holder.querySelector(".values"), field = plot.holder.querySelector(".field");
  const kilo = isBinary ? 1024 : 1000, infix = isBinary ? "i" : "";
  const [unit, name] = top >= 4 * kilo * kilo ? [kilo * kilo, `M${infix}B`] : top >= 4 * kilo ? [kilo, `K${infix}B`] : [1, "B"];
  const magnitude = unit * 10 ** Math.floor(Math.log10(Math.max(top / unit / 4, 1)));
  const step = [1, 2, 5, 10].map((s) => s * magnitude).find((s) => top / s <= 5);
  const at = (bytes) => `bottom:${(100 * bytes) / top}%`;
  values.replaceChildren();
  all(":scope > i", field).forEach((e) => e.remove());
  for (let bytes = 0; bytes <= top; bytes += step) {
    values.append(element("span", { style: at(bytes) }, bytes ? `${grouped(bytes / unit)} ${name}` : "0"));
    field.prepend(element("i", { style: at(bytes) }));
  }
  all(".level", field).forEach((level) => {
    const bytes = Number(level.dataset.v);
    level.style.bottom = `${(100 * bytes) / top}%`;
    level.hidden = bytes > top;
    const close = (other) => other > bytes && other - bytes < top / 14;
    level.classList.toggle("under", close(top) || all(".level", field).some((other) => close(Number(other.dataset.v))));
  });
};
const showTime = (side, from, wide) => {
  const length = data.sides[side].length;
  wide = clamp(wide, Math.min(length, 4), length);
  from = clamp(from, 0, length - wide);
  shown[side] = { from, wide };
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((s) => wide / s <= 8) || length;
  plots.filter((plot) => plot.side === side).forEach((plot) => {
    showBox(plot);
    const labels = [];
    for (let number = 1; number <= length; number += 1) {
      const place = (100 * (number - 0.5 - from)) / wide;
      if ((number === 1 || number % step === 0) && place >= 0 && place <= 100) {
        labels.push(element("span", { style: `left:${place}%` }, String(number)));
      }
    }
    plot.below.replaceChildren(...labels);
  });
};
const zoomTime = (side, factor, middle) => {
  const { from, wide } = shown[side];
  const at = middle === undefined ? from + wide / 2 : middle;
  showTime(side, at - (at - from) * factor, wide * factor);
};
const unitAt = (plot, x) => {
  const box = plot.svg.getBoundingClientRect(), { from, wide } = shown[plot.side];
  return clamp(Math.floor(from + ((x - box.left) / box.width) * wide), 0, data.sides[plot.side].length - 1);
};
all("[data-zoom]").forEach((button) => button.addEventListener("click", () => data.sides.forEach((figures, side) => {
  const peak = figures.ops[figures.peak_op] || { from: 0, to: 0 };
  const wish = button.dataset.zoom;
  if (wish === "in") zoomTime(side, 0.5, selected.side === side ? figures.ops[selected.op].from + 0.5 : undefined);
  if (wish === "out") zoomTime(side, 2);
  if (wish === "all") showTime(side, 0, figures.length);
  if (wish === "peak") showTime(side, (peak.from + peak.to + 1) / 2 - 12, Math.max(24, 2 * (peak.to - peak.from)));
})));
byId("own-scale")?.addEventListener("change", (event) => plots.forEach((plot) => {
  const figures = data.sides[plot.side];
  const highest = plot.holder.dataset.kind === "arena" ? Math.max(figures.arena || 0, ...figures.places.map((place) => place.offset + place.bytes)) : figures.peak;
  showScale(plot, event.target.checked ? Math.max(1, highest * 1.12) : plot.full);
}));
byId("only-peak").addEventListener("change", (event) => document.body.classList.toggle("only-peak", event.target.checked));

// One op is selected at a time: what is alive while it runs.
const panel = byId("panel");
const selected = { side: null, op: null };
let pinned = false, dragging = null;
const aliveAt = (side, op) => {
  const figures = data.sides[side], { from, to } = figures.ops[op];
  return figures.live.filter((live) => live.from <= to && live.to >= from).sort((a, b) => b.bytes - a.bytes);
};
const button = (text, act, attributes = {}) => {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
};
const select = (side, op, move = true) => {
  const figures = data.sides[side];
  op = clamp(op, 0, figures.ops.length - 1);
  Object.assign(selected, { side, op });
  const it = figures.ops[op];
  all(".cursor").forEach((e) => e.setAttribute("width", 0));
  plots.filter((plot) => plot.side === side).forEach(({ svg }) => {
    const cursor = svg.querySelector(".cursor");
    cursor.setAttribute("x", it.from);
    cursor.setAttribute("width", it.to + 1 - it.from);
  });
  if (it.from < shown[side].from || it.to >= shown[side].from + shown[side].wide) showTime(side, it.from - shown[side].wide / 2, shown[side].wide);
  all(".nodes .on").forEach((e) => e.classList.remove("on"));
  const net = nets.find((one) => one.side === side);
  net.node(op).classList.add("on");
  if (move) net.center(op);
  const body = element("tbody");
  let sum = 0;
  aliveAt(side, op).forEach((live) => {
    sum += live.bytes;
    const [first, ...others] = live.items.map((item) => figures.items[item]);
    const more = others.length ? `, then ${others[0].short}${others.length > 1 ? ` and ${others.length - 1} more` : ""}` : "";
    const shape = [first.shape && first.shape.join(" × "), first.dtype].filter(Boolean).join(" ");
    const row = element("tr", { title: first.name }, element("td", {}, swatch(first.class), `${first.short}${more}`, element("small", {}, shape)), element("td", { class: "n" }, grouped(live.bytes)));
    row.addEventListener("pointerenter", () => light(side, live.items));
    body.append(row);
  });
  const foot = element("tfoot", {}, element("tr", {}, element("td", {}, "in use"), element("td", { class: "n", id: "in-use" }, grouped(it.during))));
  if (sum !== it.during) foot.prepend(element("tr", {}, element("td", {}, "together, at different times"), element("td", { class: "n" }, grouped(sum))));
  panel.replaceChildren(
    button("×", close, { class: "close", "aria-label": "Close" }),
    element("h3", {}, it.short),
    element("p", {}, `${it.type || "op"}, op ${op + 1} of ${figures.ops.length}, ${names[side]}${it.during === figures.peak ? ": the peak" : ""}`),
    element("div", { class: "row" }, button("‹ before", () => select(side, op - 1)), button("after ›", () => select(side, op + 1)), button("network", () => byId("network").scrollIntoView()), button("peak", () => select(side, figures.peak_op))),
    element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "alive while it runs"), element("th", { scope: "col", class: "n" }, "bytes"))), body, foot),
  );
  // Not over the side that it speaks of.
  panel.classList.toggle("left", side === 1);
  panel.hidden = false;
  panel.dataset.side = side;
  panel.dataset.op = op;
};
const close = () => {
  panel.hidden = true;
  pinned = false;
  light(0, []);
  all(".cursor").forEach((e) => e.setAttribute("width", 0));
  all(".nodes .on").forEach((e) => e.classList.remove("on"));
  Object.assign(selected, { side: null, op: null });
};
document.addEventListener("keydown", (event) => event.key === "Escape" && (close(), hideTip()));

plots.forEach((plot) => {
  const { svg, side } = plot;
  const walk = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  svg.addEventListener("click", (event) => {
    if (plot.moved) return;
    select(side, opAt(side, unitAt(plot, event.clientX)));
    const e = target(event);
    if (e) light(side, meaning(side, e).items);
    pinned = Boolean(e);
  });
  svg.addEventListener("keydown", (event) => {
    const now = selected.side === side ? selected.op : data.sides[side].peak_op;
    const last = data.sides[side].ops.length - 1;
    if (event.key in walk) select(side, selected.side === side ? now + walk[event.key] : now);
    else if (event.key === "Home") select(side, 0);
    else if (event.key === "End") select(side, last);
    else if (event.key === "Enter" || event.key === " ") select(side, now);
    else if (event.key === "+" || event.key === "=") zoomTime(side, 0.5, data.sides[side].ops[now].from);
    else if (event.key === "-") zoomTime(side, 2);
    else return;
    event.preventDefault();
  });
  // A wheel with Ctrl, as two fingers make it, zooms; dragging moves what is zoomed.
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTime(side, event.deltaY > 0 ? 1.25 : 0.8, unitAt(plot, event.clientX));
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    plot.moved = false;
    plot.grip = event.pointerType === "touch" ? null : { x: event.clientX, from: shown[side].from };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!plot.grip || !event.buttons) return;
    const shift = event.clientX - plot.grip.x;
    if (Math.abs(shift) > 4) plot.moved = true;
    if (plot.moved) showTime(side, plot.grip.from - (shift / svg.getBoundingClientRect().width) * shown[side].wide, shown[side].wide);
  });
  addEventListener("pointerup", () => { plot.grip = null; });
});

// The network: zoomed and moved by its view box.
const nets = all(".net").map((holder) => {
  const svg = holder.querySelector("svg"), side = Number(holder.dataset.side);
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  const nodes = all("[data-o]", svg);
  const places = nodes.map((node) => node.getAttribute("transform").match(/[-\d.]+/g).map(Number));
  let [x, y, wide, high] = whole;
  const show = () => {
    svg.setAttribute("viewBox", `${x} ${y} ${wide} ${high}`);
    holder.classList.toggle("far", wide > 6 * svg.clientWidth || high > 6 * svg.clientHeight);
  };
  // So many units of the picture a pixel.
  const scale = () => Math.max(wide / Math.max(1, svg.clientWidth), high / Math.max(1, svg.clientHeight));
  const look = (middleX, middleY, units) => {
    wide = units * svg.clientWidth;
    high = units * svg.clientHeight;
    x = middleX - wide / 2;
    y = middleY - high / 2;
    show();
  };
  // No empty room at an edge while there is something beyond the other.
  const keepFilled = () => {
    x = wide > whole[2] ? (whole[2] - wide) / 2 : clamp(x, -12, whole[2] - wide + 12);
    y = high > whole[3] ? (whole[3] - high) / 2 : clamp(y, -12, whole[3] - high + 12);
    show();
  };
  const middle = () => [x + wide / 2, y + high / 2];
  const net = {
    side,
    node: (op) => nodes[op],
    center: (op) => {
      look(places[op][0] + 101, places[op][1] + 4, Math.min(scale(), 1));
      keepFilled();
    },
    zoom: (factor) => look(...middle(), clamp(scale() * factor, 0.3, 4 * Math.max(whole[2] / Math.max(1, svg.clientWidth), whole[3] / Math.max(1, svg.clientHeight)))),
    all: () => { [x, y, wide, high] = whole; show(); },
  };
  const pointers = new Map();
  let distance = 0, moved = false;
  svg.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    moved = false;
  });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const units = scale();
    if (pointers.size === 2) {
      const [one, other] = [...pointers.values()];
      const now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      if (distance) net.zoom(distance / Math.max(1, now));
      distance = now;
    } else if (moved || Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) > 3) {
      moved = true;
      dragging = svg;
      x -= (event.clientX - before.clientX) * units;
      y -= (event.clientY - before.clientY) * units;
      show();
    } else return;
    pointers.set(event.pointerId, event);
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    distance = 0;
    dragging = null;
  };
  addEventListener("pointerup", release);
  addEventListener("pointercancel", release);
  svg.addEventListener("click", (event) => {
    const e = target(event);
    if (!moved && e && e.dataset.o !== undefined) select(side, Number(e.dataset.o), false);
  });
  svg.addEventListener("wheel", (event) => {
    // A plain wheel scrolls the page, as everywhere.
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== svg) return;
    event.preventDefault();
    net.zoom(event.deltaY + event.deltaX > 0 ? 1.2 : 1 / 1.2);
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    const step = 60 * scale();
    if (event.key === "+" || event.key === "=") net.zoom(0.7);
    else if (event.key === "-") net.zoom(1.4);
    else if (event.key === "0") net.all();
    else if (event.key === "Enter") select(side, selected.side === side ? selected.op : data.sides[side].peak_op);
    else if (event.key.startsWith("Arrow")) {
      x += { ArrowLeft: -step, ArrowRight: step }[event.key] || 0;
      y += { ArrowUp: -step, ArrowDown: step }[event.key] || 0;
      show();
    } else return;
    event.preventDefault();
  });
  return net;
});
const atThePeak = () => nets.forEach((net) => data.sides[net.side].ops.length && net.center(data.sides[net.side].peak_op));
all("[data-net]").forEach((e) => e.addEventListener("click", () => {
  const wish = e.dataset.net;
  if (wish === "peak") return atThePeak();
  nets.forEach((net) => (wish === "all" ? net.all() : net.zoom(wish === "in" ? 0.7 : 1.4)));
}));
atThePeak();

// Search: all that match are marked, Enter goes from one to the next.
const find = byId("find"), found = byId("found");
const matches = (side) => {
  const text = find.value.trim().toLowerCase();
  if (!text) return [];
  const isMatch = (op, at) => String(at + 1) === text || op.name.toLowerCase().includes(text) || op.type.toLowerCase().includes(text) || op.writes.some((item) => data.sides[side].items[item].name.toLowerCase().includes(text));
  return data.sides[side].ops.flatMap((op, at) => (isMatch(op, at) ? [at] : []));
};
let next = 0;
const search = () => {
  all(".net .found").forEach((e) => e.classList.remove("found"));
  const lists = nets.map((net) => matches(net.side));
  nets.forEach((net, at) => lists[at].forEach((op) => net.node(op).classList.add("found")));
  nets.forEach((net, at) => lists[at].length && net.center(lists[at][next % lists[at].length]));
  found.textContent = find.value.trim() ? `${lists.map((list) => list.length).join(" and ")} found` : "";
};
find.addEventListener("input", () => { next = 0; search(); });
find.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  next += 1;
  search();
});

// Tables are made when they are opened.
const tables = {
  ops: (figures) => ({
    heads: ["op", "name", "type", "in use", "after it"], numbers: [0, 3, 4],
    rows: figures.ops.map((op, at) => [at + 1, op.name, op.type, grouped(op.during), grouped(op.after)]),
  }),
  places: (figures, side) => ({
    heads: ["tensor", "from byte", "bytes", "first op", "last op"], numbers: [1, 2, 3, 4],
    rows: figures.places.map((place) => [figures.items[place.item].name, grouped(place.offset), grouped(place.bytes), opAt(side, place.from) + 1, opAt(side, place.to) + 1]),
  }),
  tensors: (figures) => ({
    heads: ["tensor", "shape", "type", "bytes", "written by", "read by"], numbers: [3],
    rows: figures.items.map((it) => [it.name, it.shape ? it.shape.join(" × ") : "", it.dtype || "", grouped(it.bytes), it.producer === null ? it.role : it.producer + 1, it.readers.map((op) => op + 1).join(", ")]),
  }),
};
all("[data-table]").forEach((details) => details.addEventListener("toggle", () => {
  const room = details.querySelector(".wide");
  if (!details.open || room.firstChild) return;
  const { heads, numbers, rows } = tables[details.dataset.table](data.sides[details.dataset.side], Number(details.dataset.side));
  const cell = (tag, text, at) => element(tag, numbers.includes(at) ? { class: "n" } : {}, String(text));
  room.append(element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head, at) => cell("th", head, at)))), element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text, at) => cell("td", text, at)))))));
}));

// Light, dark, and the figures as a file.
const theme = byId("theme"), root = document.documentElement;
const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.hidden = false;
label();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
byId("save").addEventListener("click", () => {
  const link = element("a", { href: URL.createObjectURL(new Blob([byId("serenity-data").textContent], { type: "application/json" })), download: "serenity-page.json" });
  link.click();
});
})();
