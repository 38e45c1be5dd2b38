//! Drives the built binary as a user would.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bombs;
mod browser;
mod check;
mod check_fields;
mod commands;
mod determinism;
mod device;
mod diff;
mod emit;
mod errors;
mod faults;
mod fit;
#[path = "../../../serenity/tests/all/float_io.rs"]
mod float_io;
mod harness;
mod int8_io;
mod integrations;
mod kernels;
mod layouts;
mod limits;
mod loops;
mod mutants;
mod onnx;
mod paper;
mod pipes;
mod place;
mod report;
mod rewrite;
mod schema;
mod server;
mod several;
#[cfg(unix)]
mod signals;
mod soft_budgets;
mod terminal;
mod tflite;
mod tiny_onnx;
mod traffic;
mod unknown;
mod verify;
mod web;
