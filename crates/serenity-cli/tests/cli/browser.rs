//! A real browser: Chromium without a window, asked through the pipe of its `DevTools` protocol.
//!
//! Looked for under its usual names, or where `SERENITY_CHROMIUM` says. Where there is none, [`Browser::open`] leaves
//! out the test and returns `None`: a test ends there.

use serde_json::{Value, json};
use serenity_judges::{Need, skip};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Chromium reads requests from its third descriptor and writes answers to its fourth.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    /// What the browser told unasked.
    pub(crate) events: Vec<Value>,
    session: Option<String>,
    last: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one with an empty page.
    pub(crate) fn open() -> Option<Self> {
        Self::open_with(&[])
    }

    /// Starts one with these flags.
    pub(crate) fn open_with(flags: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            skip(
                Need::Browser,
                "no Chromium shows this page; install it, or say where it is in SERENITY_CHROMIUM",
            );
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", WITH_PIPES])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            // Nothing but our own pages is opened, and containers seldom allow more.
            .args([
                "--no-sandbox",
                "--hide-scrollbars",
                "--disable-component-update",
                "--disable-background-networking",
            ])
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while from.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser =
            Self { child, requests, answers, events: Vec::new(), session: None, last: 0, _profile: profile };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", &json!({"targetId": page["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Asks for something and waits for the answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        self.requests.flush().unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until all of it is there.
    #[track_caller]
    pub(crate) fn show(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until all of it is there.
    #[track_caller]
    pub(crate) fn visit(&mut self, address: &str) {
        self.events.clear();
        self.call("Page.navigate", &json!({"url": address}));
        while !self.has_seen("Page.loadEventFired") {
            let event = self.answers.recv_timeout(PATIENCE).unwrap();
            self.events.push(event);
        }
    }

    pub(crate) fn has_seen(&self, event: &str) -> bool {
        self.events.iter().any(|seen| seen["method"] == event)
    }

    /// All that went wrong on the page, and all that it asked for besides itself.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let told = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown"
            | "Log.entryAdded"
            | "Page.javascriptDialogOpening"
            | "Runtime.consoleAPICalled" => true,
            "Network.requestWillBeSent" => event["params"]["type"] != "Document",
            _ => false,
        };
        // The icon is empty, and in the page.
        let is_icon = |event: &&Value| event["params"]["request"]["url"] == "data:,";
        self.events.iter().filter(told).filter(|event| !is_icon(event)).map(Value::to_string).collect()
    }

    /// The value of an expression of JavaScript.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            &json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression of JavaScript is true.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != true {
            assert!(begun.elapsed() < PATIENCE, "waited in vain for {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Drops a file into the middle of an element.
    #[track_caller]
    pub(crate) fn drop_file(&mut self, element: &str, file: &Path) {
        let (x, y) = self.point_at(element);
        let data = json!({"items": [], "files": [file], "dragOperationsMask": 1});
        // The first move only tells the page that something has come over the element.
        for kind in ["dragEnter", "dragOver", "dragOver", "drop"] {
            self.call("Input.dispatchDragEvent", &json!({"type": kind, "x": x, "y": y, "data": data}));
        }
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// A window of this size.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// What the system prefers: `light` or `dark`.
    pub(crate) fn prefer(&mut self, theme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", &features);
    }

    /// Scrolls the middle of an element into view and moves the mouse there.
    #[track_caller]
    pub(crate) fn point_at(&mut self, element: &str) -> (f64, f64) {
        let place = self.value(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }})()"
        ));
        let at = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.mouse("mouseMoved", at);
        at
    }

    #[track_caller]
    pub(crate) fn click(&mut self, element: &str) {
        let at = self.point_at(element);
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        self.call(
            "Input.dispatchMouseEvent",
            &json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1}),
        );
    }

    /// Presses a key on whatever has the focus.
    pub(crate) fn press(&mut self, key: &str) {
        // Only with its code and its text does Enter press a button or send a form.
        let (code, text) = if key == "Enter" { (13, "\r") } else { (0, "") };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("SERENITY_CHROMIUM") {
        return Some(named.into()).filter(|path: &PathBuf| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}
