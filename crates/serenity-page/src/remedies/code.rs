//! Suggests emitted C if the model would fit without an interpreter.

use super::{Case, ESTIMATES_ARE_WITHIN, MORE_MACS};
use serenity::code::emit_c;
use serenity::pipeline::estimate_loops;
use serenity::{Loops, Optimized, Options, Rewrites, optimize};
use serenity_formats::Format;
use serenity_report::page::Remedy;
use serenity_runtimes::Kernels;

/// One way to emit the model as C.
#[derive(Clone, Copy)]
struct Written {
    int8_io: bool,
    loops: bool,
    ram: u64,
}

impl Case<'_> {
    /// C that needs less than the interpreter: the first that fits, otherwise the smallest. `None` if an operator is
    /// not covered.
    pub(super) fn code(&self) -> Option<Remedy> {
        let budget = self.asked.budget?;
        let mut best: Option<Written> = None;
        for (int8_io, loops) in [(false, false), (true, false), (false, true), (true, true)] {
            if best.is_some_and(|best| best.ram <= budget) {
                break;
            }
            if let Some(written) = self.written(int8_io, loops, budget)
                && best.is_none_or(|best| written.ram < best.ram)
            {
                best = Some(written);
            }
        }
        let Written { int8_io, loops, ram } = best.filter(|best| best.ram < self.need.bytes)?;
        let io = if int8_io { ", with whole numbers for inputs and outputs" } else { "" };
        let rows = if loops { ", with loops over a few rows at a time" } else { "" };
        let flags = [(int8_io, " --int8-io"), (loops, " --loops")];
        let flags: String = flags.iter().filter_map(|&(is_on, flag)| is_on.then_some(flag)).collect();
        Some(Remedy {
            text: format!(
                "Write the model as C, without an interpreter{io}{rows}: at most {} of static memory, the same bit for bit.",
                self.unit().size(ram)
            ),
            command: Some(format!("serenity emit c {}{flags} --budget {budget} -o code", self.asked.typed)),
            needs: Some(ram),
            fits: Some(ram <= budget),
        })
    }

    /// The static memory of the code; `None` if it cannot be written this way, or if that was asked for or would not be
    /// enough by far.
    fn written(&self, int8_io: bool, loops: bool, budget: u64) -> Option<Written> {
        let options = self.emitted_options()?;
        if self.input.file.format() != Format::TfLite || (int8_io && self.quantized().is_none()) {
            return None;
        }
        let int8_io_now = self.options.int8_io || int8_io;
        // Rewrites take time and never raise the need: without them it is an upper bound.
        let options = Options { int8_io: int8_io_now, loops: None, rewrites: Rewrites::None, ..options };
        let mut found = optimize(self.input, &options).ok()?;
        if loops {
            found = self.looped(&found, &options, budget)?;
        }
        let ram = emit_c(&found.model, &found.plan, "net").ok()?.ram();
        Some(Written { int8_io, loops, ram })
    }

    /// Plans the model with loops, if they may be enough.
    fn looped(&self, found: &Optimized, options: &Options, budget: u64) -> Option<Optimized> {
        let loops = Loops { most_extra_macs: MORE_MACS[0], enough: Some(budget) };
        let estimate = estimate_loops(found, loops, options)?;
        let at_best = estimate.arena - estimate.arena / ESTIMATES_ARE_WITHIN;
        if at_best > budget {
            return None;
        }
        optimize(self.input, &Options { loops: Some(loops), ..options.clone() }).ok()
    }

    /// The options with the kernels of emitted C that correspond to the named ones.
    fn emitted_options(&self) -> Option<Options> {
        let kernels = match self.options.model.kernels()? {
            Kernels::Any => Kernels::Emitted,
            Kernels::CmsisNn => Kernels::EmittedCmsisNn,
            Kernels::CmsisNnMve => Kernels::EmittedCmsisNnMve,
            _ => return None,
        };
        let model = self.options.model.without_plan().with_kernels(kernels);
        Some(Options { model, plan_arena: true, ..self.options.clone() })
    }
}
