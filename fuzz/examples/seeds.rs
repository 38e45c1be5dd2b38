//! Writes the seeds of every target to `fuzz/corpus`, where `cargo fuzz run` looks for them.

use serenity_fuzz::{TARGETS, seeds::seeds};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (target, _) in TARGETS {
        let folder = project.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in seeds(&project, target).into_iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
