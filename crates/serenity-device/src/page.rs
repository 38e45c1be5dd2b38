//! The page about a device: one picture for each memory, and all places as a table.

use crate::plan::{Handed, life_of};
use crate::{Device, Part};
use serenity_report::{Block, BlockKind, DevicePage, MemoryPicture, Table, grouped};

impl Device {
    /// What lies where, and when.
    pub fn page(&self) -> DevicePage {
        let (app, plan) = (&self.app, &self.plan);
        let mut page = DevicePage {
            title: app.name.clone(),
            facts: vec![
                ("models".to_owned(), app.models.len().to_string()),
                ("memories".to_owned(), app.memories.len().to_string()),
                ("moments".to_owned(), app.moments().len().to_string()),
            ],
            apart: self.apart(),
            ram: plan.ram(),
            proof: self.proof(),
            memories: (0..app.memories.len()).map(|memory| self.picture(memory)).collect(),
            table: Table::titled("what | memory | #offset | #bytes | #bytes read | #bytes written"),
        };
        for (model, parts) in app.models.iter().zip(&plan.parts) {
            for Part { memory, offset, bytes, traffic } in parts {
                let numbers =
                    [*offset, *bytes, traffic.read, traffic.written].map(|bytes| grouped(bytes.into()));
                page.table.push(
                    [model.name.clone(), app.memories[*memory].name.clone()].into_iter().chain(numbers),
                );
            }
        }
        for kept in &plan.handed {
            let numbers = [kept.offset, kept.bytes].map(|bytes| grouped(bytes.into()));
            page.table.push(
                [self.name_of(kept), app.memories[kept.memory].name.clone()].into_iter().chain(numbers),
            );
        }
        page
    }

    fn name_of(&self, kept: &Handed) -> String {
        format!("output {} of {}", kept.output, self.app.models[kept.from].name)
    }

    /// What is proved of the figures, as a sentence.
    fn proof(&self) -> String {
        let plan = &self.plan;
        match (&self.app.memories[..], &plan.memories[..]) {
            ([_], [filled]) if filled.shared <= filled.shared_bound => {
                "Proved: no placement of these plans needs less.".to_owned()
            }
            ([_], [filled]) => {
                format!(
                    "No placement of these plans shares less than {} bytes.",
                    grouped(filled.shared_bound.into())
                )
            }
            _ => format!(
                "All bytes touched cost {}; no division of these plans costs less than {}.",
                grouped(plan.cost.into()),
                grouped(plan.bound.into())
            ),
        }
    }

    fn picture(&self, memory: usize) -> MemoryPicture {
        let (app, filled) = (&self.app, self.plan.memories[memory]);
        let moments = app.moments();
        let used = filled.shared + filled.state;
        let mut blocks = Vec::new();
        for (moment, running) in moments.iter().enumerate() {
            for &model in running {
                for part in self.plan.parts[model].iter().filter(|part| part.memory == memory) {
                    blocks.push(Block {
                        name: app.models[model].name.clone(),
                        kind: BlockKind::Arena,
                        bytes: part.offset..part.offset + part.bytes,
                        moments: moment as f64..moment as f64 + 1.0,
                    });
                }
            }
        }
        for kept in self.plan.handed.iter().filter(|kept| kept.memory == memory) {
            let life = life_of(app, kept);
            blocks.push(Block {
                name: self.name_of(kept),
                kind: BlockKind::Handed,
                bytes: kept.offset..kept.offset + kept.bytes,
                // Two steps a moment, of which the second is the gap behind it.
                moments: (life.start + 1).div_euclid(2) as f64..(life.end + 1).div_euclid(2) as f64,
            });
        }
        if filled.state > 0 {
            blocks.push(Block {
                name: "state".to_owned(),
                kind: BlockKind::State,
                bytes: filled.shared..used,
                moments: 0.0..moments.len() as f64,
            });
        }
        let name_all = |running: &Vec<usize>| {
            running.iter().map(|&model| app.models[model].name.as_str()).collect::<Vec<_>>().join(", ")
        };
        MemoryPicture {
            name: app.memories[memory].name.clone(),
            size: app.memories[memory].size,
            used,
            moments: moments.iter().map(name_all).collect(),
            blocks,
        }
    }
}
