//! What the worker of the page calls, and what it is told.
#![expect(unreachable_pub, reason = "it is reached from JavaScript")]

use crate::{Choices, Complaint, Wishes, in_words};
use std::sync::Arc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// How the search stands.
    fn tell(news: &str);
    /// What a panic says, before the trap.
    fn fault(message: &str);
}

/// Runs when the module is loaded.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| fault(&info.to_string())));
}

/// What the form offers, as JSON.
#[wasm_bindgen]
pub fn choices() -> String {
    as_json(&Choices::all())
}

/// A built-in network as an int8 `.tflite`.
#[wasm_bindgen]
pub fn network(spec: &str) -> Result<Vec<u8>, JsValue> {
    crate::network(spec).map_err(|complaint| thrown(&complaint))
}

/// One model, and what was made of it.
#[wasm_bindgen]
pub struct Desk(crate::Desk);

#[wasm_bindgen]
impl Desk {
    /// Reads a model and optimises it as the form says, which is JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: Vec<u8>, wishes: &str) -> Result<Self, JsValue> {
        let wishes: Wishes =
            serde_json::from_str(wishes).map_err(|error| JsValue::from(error.to_string()))?;
        let progress = Arc::new(|progress: &_| tell(&in_words(progress)));
        let desk = crate::Desk::open(name, bytes, &wishes, Some(progress));
        desk.map(Self).map_err(|complaint| thrown(&complaint))
    }

    /// The report, and what can be downloaded, as JSON.
    pub fn sheet(&self) -> String {
        as_json(&self.0.sheet())
    }

    /// All ways to make the model fit as JSON, if there is a budget.
    pub fn ways(&mut self) -> Result<Option<String>, JsValue> {
        self.0.ways().map_err(|complaint| thrown(&complaint))
    }

    /// One of the files.
    pub fn file(&self, which: &str) -> Result<Vec<u8>, JsValue> {
        self.0.file(which).map_err(|complaint| thrown(&complaint))
    }
}

/// An error as the worker catches it: JSON.
fn thrown(complaint: &Complaint) -> JsValue {
    as_json(complaint).into()
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::json!(value).to_string()
}
