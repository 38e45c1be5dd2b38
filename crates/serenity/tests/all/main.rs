//! The whole pipeline on graphs and files. One program: a program for each file would cost more to build than to run.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

mod asked_rewrites;
mod attempts;
mod cancelled_transposes;
mod certificates;
mod checked_arenas;
mod common;
mod constant_channels;
mod devices;
mod devices_tflm;
mod emitted_c;
mod emitted_layers;
mod emitted_slides;
mod emitted_streams;
mod exact_engine;
mod example_firmware;
mod exported_models;
mod float_io;
mod formats;
mod freedom;
mod fuzzed;
mod given_plans;
mod half_weights;
mod hops;
mod int8_io;
mod looped_again;
mod looped_models;
mod looped_windows;
mod off_chip;
mod onnx_bound;
mod onnx_runtimes;
mod onnx_sessions;
mod optimality;
mod paper_cells;
mod placement_problems;
mod planned_arenas;
mod random_networks;
mod replayed_plans;
mod rewriting;
mod rewriting_onnx;
mod rewriting_tflite;
mod shared_graphs;
mod stated_sharing;
mod tampering;
mod tflite_runtimes;
mod tflm_tail;
