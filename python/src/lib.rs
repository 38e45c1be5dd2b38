//! What Python calls. Every function here hands over to the library and back: what is decided is decided there, what is
//! comfortable is made in Python.

mod errors;
mod extras;
mod fit;
mod found;
mod look;
mod many;
mod model;
mod oracle;
mod place;
mod search;
mod wishes;

use pyo3::prelude::*;

/// Searches allocate much, in small pieces and in threads of their own: with this one they are half as fast again as
/// with the system's (`benchmarks/many.py`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of the package `serenity`.
#[pymodule]
fn _serenity(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<found::Found>()?;
    module.add_class::<fit::FoundFit>()?;
    module.add_class::<oracle::Oracle>()?;
    for function in [
        wrap_pyfunction!(model::load, module)?,
        wrap_pyfunction!(model::read, module)?,
        wrap_pyfunction!(model::build, module)?,
        wrap_pyfunction!(found::optimize, module)?,
        wrap_pyfunction!(found::schedule, module)?,
        wrap_pyfunction!(many::optimize_many, module)?,
        wrap_pyfunction!(fit::fit, module)?,
        wrap_pyfunction!(look::inspect, module)?,
        wrap_pyfunction!(look::diff, module)?,
        wrap_pyfunction!(look::sample, module)?,
        wrap_pyfunction!(look::emit_c, module)?,
        wrap_pyfunction!(place::place, module)?,
        wrap_pyfunction!(place::place_model, module)?,
        wrap_pyfunction!(place::divide, module)?,
        wrap_pyfunction!(extras::traffic, module)?,
        wrap_pyfunction!(extras::verify, module)?,
        wrap_pyfunction!(extras::check, module)?,
        wrap_pyfunction!(extras::chart, module)?,
        wrap_pyfunction!(extras::parse_size, module)?,
        wrap_pyfunction!(extras::run_command, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
