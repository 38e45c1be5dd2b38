// What the page does: takes a model, hands it to the worker with what the form says, and shows what comes back.
// After loading it asks for nothing: the worker and the module are kept, for a new worker after a cancel.
"use strict";
const byId = (id) => document.getElementById(id);
const [form, status, problem, result, report] = ["form", "status", "problem", "result", "report"].map(byId);

// Texts are always set as text: names come from the model and may hold anything.
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
// A sentence whose names stand in backticks.
const coded = (text) => text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// The tool, once it is loaded.
let tool = null;
let worker = null;
// The model on the desk, what the page says of it, and what the worker does.
let model = null;
let sheet = null;
let task = null;

const say = (text) => { status.textContent = text; };
const complain = ({ message, help } = {}) => {
  const [what, remedy] = problem.children;
  what.replaceChildren(...coded(message ?? ""));
  remedy.replaceChildren(...coded(help ?? ""));
  problem.hidden = !message;
};

// One task at a time: while the worker is busy, only a cancel can be asked for.
const busy = (kind) => {
  task = kind;
  byId("progress").hidden = byId("cancel").hidden = !kind;
  byId("run").disabled = !!kind || !model;
  byId("try").disabled = !!kind;
  for (const button of result.querySelectorAll(".asks")) button.disabled = !!kind;
  form.setAttribute("aria-busy", !!kind);
};
const ask = (kind, what = {}) => {
  busy(kind);
  worker.postMessage({ kind, ...what });
};

// A worker that has not begun yet.
const hire = () => {
  // What the old one has said last is not for this one.
  if (worker) worker.onmessage = null;
  worker?.terminate();
  worker = new Worker(tool.code);
  worker.onmessage = ({ data }) => answers[data.kind](data);
  worker.onerror = (event) => {
    event.preventDefault();
    lose({ message: `the worker of this page stopped: ${event.message ?? "no reason is known"}`, help: "reload the page" });
  };
  ask("start", { module: tool.module });
};
// Goes on with a new worker; what only the old one could make is gone with it.
const lose = (why) => {
  if (task === "start") {
    busy(null);
    say("");
    return complain(why);
  }
  for (const button of result.querySelectorAll(".asks")) button.remove();
  hire();
  complain(why);
};

const wishes = () => Object.fromEntries([...form.elements].filter((field) => field.name)
  .map((field) => [field.name, field.type === "checkbox" ? field.checked : field.value.trim()]));

const run = () => {
  if (!model || task) return;
  complain();
  result.hidden = true;
  say(`Reading ${model.name}…`);
  // On a phone it is further down.
  status.scrollIntoView({ block: "nearest" });
  ask("run", { file: model, wishes: wishes() });
};

// Until somebody says otherwise, a model for TFLM is for a small board, and one for ONNX Runtime is for no board.
let isChosen = false;
const suggest = (name) => {
  if (!isChosen) byId("budget").value = byId("board").value = /\.onnx$/i.test(name) ? "" : byId("budget").defaultValue;
};
// A model that comes before the tool is loaded waits for it.
let isWaiting = false;
const take = (file) => {
  // Whatever is done for the model before it is done for nobody.
  if (task && task !== "start") lose();
  model = file;
  byId("name").textContent = file.name;
  suggest(file.name);
  isWaiting = !worker || task === "start";
  if (!isWaiting) run();
};

const cancel = () => {
  if (!task || task === "start") return;
  said = model ? `Cancelled. ${model.name} is still here: change the options, or optimize again.` : "Cancelled.";
  lose();
};
// What to say when the worker is ready.
let said = "";

// Files are made when they are asked for. `wanted` is the name of the one that is.
let wanted = null;
const fetchFile = (which, name) => {
  wanted = name;
  complain();
  say(`Writing ${name}…`);
  ask("file", { which });
};
const save = (content, name) => {
  const link = element("a", { href: URL.createObjectURL(new Blob([content])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};
const button = (label, act, attributes = {}) => {
  const made = element("button", { type: "button", ...attributes }, label);
  made.onclick = act;
  return made;
};
const fileButton = (label, which, name) => button(label, () => fetchFile(which, name), { class: "asks" });

const options = (select, names) => select.append(...names.map(([value, text = value]) => element("option", { value }, text)));

const answers = {
  start({ choices }) {
    if (!byId("network").length) {
      const { boards, kernels, networks, rewrites, runtimes, version } = choices;
      options(byId("board"), boards.map(({ name, budget }) => [budget, `${name}, ${budget}`]));
      byId("board").value = byId("budget").value;
      options(byId("network"), networks.map(({ name }) => [name]));
      options(form.elements.kernels, kernels.map((name) => [name]));
      options(form.elements.rewrite, rewrites.map((name) => [name]));
      options(form.elements.runtime, runtimes.map((name) => [name]));
      byId("version").textContent = version;
      byId("network").onchange = () => { byId("summary").textContent = networks[byId("network").selectedIndex].summary; };
      byId("network").onchange();
    }
    busy(null);
    say(said || "Ready.");
    said = "";
    if (isWaiting) run();
    isWaiting = false;
  },
  news({ text }) {
    if (task) say(text);
  },
  network({ bytes }) {
    busy(null);
    take(new File([bytes], `${byId("network").value}.tflite`));
  },
  run({ smaller, plan, ...made }) {
    busy(null);
    ({ sheet } = made);
    result.hidden = false;
    report.srcdoc = sheet.report;
    const stem = model.name.replace(/\.[^.]*$/, "");
    byId("files").replaceChildren(
      button("Smaller model", () => save(smaller, sheet.model)),
      button("Plan", () => save(plan, "plan.json")),
      button("Report", () => save(sheet.report, "report.html")),
      ...(sheet.code ? [fileButton("C code", "code", `${stem}.zip`)] : []),
    );
    byId("commands").textContent = [sheet.command, sheet.code].filter(Boolean).join("\n");
    byId("ways").hidden = true;
    if (!sheet.budget) return say("Done. Give a budget or a board to see all ways to fit it.");
    byId("ways-title").textContent = `All ways to fit ${sheet.budget}`;
    say("Trying all ways to fit…");
    ask("ways");
  },
  ways({ table, macs, report: withWays }) {
    busy(null);
    // Now it says what would make the model fit.
    if (withWays) report.srcdoc = sheet.report = withWays;
    say("Done.");
    byId("ways").hidden = false;
    const first = table.fits ? `Fits: ${table.ways[table.chosen].name}, the way that asks least of the application.` : "Does not fit in any way.";
    byId("advice").replaceChildren(...coded([first, ...table.advice].join(" ")));
    byId("ways").querySelector("tbody").replaceChildren(...table.ways.map((way, row) => wayRow({ ...table, macs }, way, row)));
  },
  file({ bytes }) {
    busy(null);
    say(`${wanted}: ${grouped(bytes.length)} bytes.`);
    save(bytes, wanted);
  },
  problem({ message, help, isOver }) {
    if (isOver) return lose({ message, help });
    busy(null);
    say("");
    complain({ message, help });
  },
};

// A share of what the model takes as it came; nothing for no change.
const share = (value) => (value && Math.abs(value) >= 0.0005 ? `${value > 0 ? "+" : "−"}${(100 * Math.abs(value)).toFixed(1)} %` : "");
const signed = (number) => (number ? `${number > 0 ? "+" : "−"}${grouped(Math.abs(number))}` : "");

const wayRow = (table, way, row) => {
  const name = element("td", {}, way.name);
  const made = element("tr", row === table.chosen ? { class: "chosen" } : {}, name);
  if (way.need === null) {
    made.append(element("td", { colspan: 6, class: "why" }, ...coded(way.not_possible)));
    return made;
  }
  const asks = way.asks.map((text) => element("li", {}, ...coded(`the application must ${text}`)));
  if (way.command) name.append(element("details", {}, element("summary", {}, "what it takes"), element("ul", {}, ...asks), element("pre", {}, way.command)));
  const need = way.need + way.margin, over = need - table.budget;
  const verdict = way.fits ? "fits" : over > 0 ? grouped(over) : "unknown";
  const cells = [["RAM", grouped(need)], ["over by", verdict], ["MACs", share(way.extra_macs / Math.max(table.macs, 1))], ["time", share(way.extra_time)], ["flash", signed(way.extra_flash)]];
  made.append(...cells.map(([head, text]) => element("td", { class: text === "fits" ? "n good" : "n", ...(text ? { "data-head": head } : {}) }, text)));
  const isCode = way.changes.includes("c");
  made.append(element("td", {}, ...(way.command ? [fileButton(isCode ? "C" : "model", String(row), isCode ? "code.zip" : sheet.model)] : [])));
  return made;
};

form.onsubmit = (event) => {
  event.preventDefault();
  run();
};
byId("file").onchange = ({ target }) => {
  if (target.files.length) take(target.files[0]);
  // So that the same file can be chosen again after it was changed.
  target.value = "";
};
byId("cancel").onclick = cancel;
byId("try").onclick = () => {
  complain();
  say("Making the network…");
  ask("network", { name: byId("network").value });
};
byId("board").onchange = ({ target }) => {
  isChosen = true;
  byId("budget").value = target.value;
};
byId("budget").oninput = ({ target }) => {
  isChosen = true;
  byId("board").value = target.value;
};
document.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
const dragged = (event, isOver) => {
  event.preventDefault();
  document.body.classList.toggle("over", isOver);
};
document.addEventListener("dragenter", (event) => dragged(event, true));
document.addEventListener("dragover", (event) => dragged(event, true));
document.addEventListener("dragleave", (event) => dragged(event, false));
document.addEventListener("drop", (event) => {
  dragged(event, false);
  const [file] = event.dataTransfer.files;
  if (file) take(file);
});

const load = async () => {
  const part = async (name) => {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`\`${name}\` is not there (${answer.status})`);
    return answer.arrayBuffer();
  };
  const [code, module] = await Promise.all([part("worker.js"), part("serenity.wasm").then((bytes) => WebAssembly.compile(bytes))]);
  tool = { code: URL.createObjectURL(new Blob([code], { type: "text/javascript" })), module };
  hire();
};
load().catch((error) => {
  say("");
  complain({ message: `The tool cannot be loaded: ${error.message}`, help: "Serve this folder from any web server (python3 -m http.server), and use a browser with WebAssembly." });
});
