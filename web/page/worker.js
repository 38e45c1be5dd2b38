// The worker of the page: reads models, and runs the tool on them. The glue of wasm-bindgen stands before this in one file.
"use strict";
// Larger files are refused: WebAssembly addresses 4 GiB, and a model is held several times while it is changed.
const MOST_BYTES = 700e6;
let desk = null;
let panicked = "";
// A trap leaves the memory as it was: nothing can be asked of it any more.
const isTrap = (error) => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;

// What the module asks for.
function tell(text) { postMessage({ kind: "news", text }); }
function fault(text) { panicked = text; }

const inMegabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const tooLarge = (name, size, why) => ({
  message: `\`${name}\` (${inMegabytes(size)}) is too large for this tab: ${why}`,
  help: "use the command `serenity` for this model, which takes all memory of the machine; or close other tabs, and leave out loops and the budget",
});

const complaint = (error, { name, size }) => {
  if (panicked) {
    return { message: `a bug in Serenity stopped the work on \`${name}\`: ${panicked}`, help: "please report it with the model", isOver: true };
  }
  // Without the message of a panic, a trap is an allocation that failed, and a RangeError a stack or a buffer that cannot grow.
  if (isTrap(error)) return { ...tooLarge(name, size, "its memory is used up"), isOver: true };
  try {
    return JSON.parse(error);
  } catch {
    return { message: `\`${name}\`: ${error.message ?? error}`, help: null };
  }
};

const read = async (file) => {
  if (file.size > MOST_BYTES) throw JSON.stringify(tooLarge(file.name, file.size, `at most ${inMegabytes(MOST_BYTES)} can be read`));
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (error) {
    throw JSON.stringify(error instanceof RangeError
      ? tooLarge(file.name, file.size, "it cannot be read as a whole")
      : { message: `cannot read \`${file.name}\`: ${error.message}`, help: "choose the file again: it may have been moved or changed" });
  }
};

const tasks = {
  async start({ module }) {
    await wasm_bindgen({ module_or_path: module });
    return { choices: JSON.parse(wasm_bindgen.choices()) };
  },
  network({ name }) {
    const bytes = wasm_bindgen.network(name);
    return { bytes };
  },
  async run({ file, wishes }) {
    desk?.free();
    desk = null;
    desk = new wasm_bindgen.Desk(file.name, await read(file), JSON.stringify(wishes));
    return { sheet: JSON.parse(desk.sheet()), smaller: desk.file("model"), plan: desk.file("plan") };
  },
  ways() {
    return JSON.parse(desk.ways());
  },
  file({ which }) {
    return { bytes: desk.file(which) };
  },
};

// What runs, for messages.
let about = { name: "the model", size: 0 };

onmessage = async ({ data }) => {
  try {
    if (data.file) about = { name: data.file.name, size: data.file.size };
    postMessage({ kind: data.kind, ...(await tasks[data.kind](data)) });
  } catch (error) {
    postMessage({ kind: "problem", of: data.kind, ...complaint(error, about) });
  }
};
