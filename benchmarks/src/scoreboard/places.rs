//! Places alone: the height of the arena for given lifetimes.

use super::board::{Answer, Board, Column};
use super::inputs::File;
use super::orders::Ordered;
use super::peers::{Package, ask, numbers};
use serde_json::Value;
use serenity::arena::csv::{self, Table};
use serenity::arena::{Limits, Options, Planner, Problem, Proof, place};
use serenity::check::{PlacedBuffer, first_clash};
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TEXT: &str = "\
Height of the arena in bytes for the same buffers: those of all inputs above in our order, sizes and offsets in multiples of 16, and the tables of the collection (minimalloc's 'challenging' ones, any offset). Every answer is \
checked: no two buffers that live at once share a byte. `serenity place TABLE.csv` is ours; `*`: not proved lowest. `TFLM` and `LiteRT` are their algorithms as we wrote them again (`--planner tflm`, `--planner litert`), byte for byte \
the same as the runtimes on every model that our tests judge. Vela's is its allocator in Python (`python benchmarks/peers/vela_places.py TABLE.csv`) with the iterations that it has by default and 60 s (ours has the cap of the searches, here of wall-clock time), ExecuTorch's its greedy planner \
(`python benchmarks/peers/executorch_places.py TABLE.csv`).
";

/// Of the offsets in a model.
const ALIGNMENT: u64 = 16;

/// For one answer of a peer.
const SECONDS: &str = "60";

/// Buffers, and what they are called.
struct Job {
    name: String,
    problem: Problem,
    path: PathBuf,
}

/// Asks everybody for places.
pub(super) fn measure(
    ordered: &[Ordered],
    tables: &[File],
    [vela, executorch]: [Option<&Package>; 2],
    cap: Duration,
    folder: &Path,
) -> Result<Board, Box<dyn Error>> {
    let models = models(ordered, folder)?;
    let given = tables.iter().map(given).collect::<Result<Vec<Job>, _>>()?;
    let mut rows = Vec::new();
    for (jobs, align) in [(&models, ALIGNMENT), (&given, 1)] {
        let paths: Vec<PathBuf> = jobs.iter().map(|job| job.path.clone()).collect();
        let align = align.to_string();
        let [vela, executorch] =
            [(vela, "vela_places.py"), (executorch, "executorch_places.py")].map(|(package, script)| {
                ask(package, script, &["--align", &align, "--time-limit", SECONDS], &paths)
            });
        let (vela, executorch) = (vela?, executorch?);
        for ((job, vela), executorch) in jobs.iter().zip(vela).zip(executorch) {
            eprintln!("{}: places", job.name);
            let ours = job.place(Planner::Exact, cap);
            let mark = if ours.proof == Proof::Optimal { "" } else { "*" };
            let answers = vec![
                job.place(Planner::Tflm, cap).height.into(),
                job.place(Planner::LiteRt, cap).height.into(),
                job.height(vela).into(),
                job.height(executorch).into(),
                Answer::Bytes(ours.height, mark),
            ];
            rows.push((job.name.clone(), answers));
        }
    }
    let heads = ["TFLM", "LiteRT", "Vela, hill climb", "ExecuTorch, greedy"];
    let mut columns: Vec<Column> = heads.iter().map(|head| Column::peer(head, heads.len())).collect();
    columns.push(Column::ours("Serenity"));
    Ok(Board { title: "Places", text: TEXT, columns, rows })
}

impl Job {
    fn place(&self, planner: Planner, cap: Duration) -> serenity::arena::Placement {
        place(&self.problem, &Options { limits: Limits::lasting(cap), ..Options::new(planner) })
    }

    /// What the offsets of an answer come to, if they can be.
    fn height(&self, said: Result<Value, String>) -> Result<u64, String> {
        let offsets = numbers(&said?, "offsets")?;
        let buffers = self.problem.buffers();
        if offsets.len() != buffers.len() {
            return Err(format!("{} offsets for {} buffers", offsets.len(), buffers.len()));
        }
        let placed: Vec<PlacedBuffer> = buffers
            .iter()
            .zip(offsets)
            .map(|(b, begin)| PlacedBuffer { begin, end: begin + b.size, lower: b.lower, upper: b.upper })
            .collect();
        match first_clash(&placed, |_, _| false) {
            Some(_) => Err("two buffers that live at once share bytes".to_owned()),
            None => Ok(placed.iter().map(|buffer| buffer.end).max().unwrap_or(0)),
        }
    }
}

/// The buffers of the networks, each in our order.
fn models(ordered: &[Ordered], folder: &Path) -> Result<Vec<Job>, Box<dyn Error>> {
    let mut jobs = Vec::new();
    for (index, Ordered { network, order }) in ordered.iter().enumerate() {
        let arena = MemoryModel::Plain.placement_problem(&[&network.graph], &[order]).ok_or("too large")?;
        let mut buffers = arena.problem.buffers().to_vec();
        buffers.retain(|buffer| buffer.size > 0);
        for buffer in &mut buffers {
            buffer.size = buffer.size.next_multiple_of(ALIGNMENT);
        }
        let path = folder.join(format!("places{index}.csv"));
        let ids = (0..buffers.len()).map(|id| id.to_string()).collect();
        std::fs::write(&path, csv::write(&Table { ids, buffers: buffers.clone() }, None))?;
        jobs.push(Job { name: network.name.clone(), problem: Problem::new(buffers, ALIGNMENT)?, path });
    }
    Ok(jobs)
}

fn given(file: &File) -> Result<Job, Box<dyn Error>> {
    let text = std::fs::read_to_string(&file.path)
        .map_err(|error| format!("`{}`: {error}; name a table that is there", file.path.display()))?;
    let table = csv::read(&text)?;
    Ok(Job { name: file.name.clone(), problem: Problem::new(table.buffers, 1)?, path: file.path.clone() })
}
