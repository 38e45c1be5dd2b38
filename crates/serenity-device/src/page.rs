//! The page about a device: one picture for each memory, and all places as a table.

use crate::plan::{Handed, life_of};
use crate::{Device, Obvious, Part};
use serenity_report::{Block, BlockKind, DevicePage, MemoryPicture, Table, grouped};
use std::iter;

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
            touched: self.touched(),
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

    /// Bytes that one run of each model touches in each of several memories, beside what obvious placements would touch.
    /// The first row is the plan, the last one the lower bound.
    pub fn touched(&self) -> Table {
        let memories = self.app.memories.iter().map(|memory| format!(" | #{}", memory.name));
        let mut table = Table::titled(&format!("bytes touched | #cost{}", memories.collect::<String>()));
        if self.baselines.is_empty() {
            return table;
        }
        let baselines = self.baselines.iter().map(|(way, plan)| (label(*way), plan.as_ref()));
        for (name, plan) in iter::once(("this plan", Some(&self.plan))).chain(baselines) {
            let Some(plan) = plan else {
                table.push([name, "does not fit"]);
                continue;
            };
            let touched = (0..self.app.memories.len()).map(|memory| plan.traffic(memory).bytes());
            let numbers = iter::once(plan.cost).chain(touched).map(|bytes| grouped(bytes.into()));
            table.push(iter::once(name.to_owned()).chain(numbers));
        }
        let mut least = vec!["at least".to_owned(), grouped(self.plan.bound.into())];
        // The bound counts what lies in any memory but the cheapest.
        if let ([_, _], Some(cheapest)) = (&self.app.memories[..], self.app.cheapest_memory()) {
            let bound = grouped(self.plan.slow_bound.into());
            least.extend(if cheapest == 0 { [String::new(), bound] } else { [bound, String::new()] });
        }
        table.push(least);
        table
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

fn label(way: Obvious) -> &'static str {
    match way {
        Obvious::FirstFit => "first fit",
        Obvious::LargestSlow => "largest slow",
        Obvious::AllSlow => "all slow",
    }
}
