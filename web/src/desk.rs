//! One model, and what was made of it.

use crate::wishes::Asked;
use crate::{Complaint, Wishes, zip};
use serde::Serialize;
use serenity::account::Account;
use serenity::emit::{Emitted, prefix_of};
use serenity::layout::Layout;
use serenity::pipeline::{StatedPlan, Target, planned_model, reordered_graph};
use serenity::search::{Limits, ProgressFn};
use serenity::stream::best_code;
use serenity::{Format, Input, Optimized, Options, PlanFile, optimize};
use serenity_fit::{Change, Fit, Question, StatedFit};
use serenity_page::{PageOptions, page};
use std::sync::Arc;
use std::time::Duration;

/// A safety net, as that of the command.
const LONGEST: Duration = Duration::from_secs(300);
/// The most that the tables of a search may take: a quarter of what WebAssembly can address.
const MOST_MEMORY: u64 = 1 << 30;

/// A model that was optimised as the form of the page says.
pub struct Desk {
    input: Input,
    asked: Asked,
    found: Optimized,
    options: Options,
    progress: Option<ProgressFn>,
    ways: Option<Arc<Fit>>,
}

/// What the page shows first.
#[derive(Serialize)]
pub struct Sheet {
    /// The report, a page of its own.
    report: String,
    /// The file of the smaller model.
    model: String,
    /// The command that writes the model, the plan and the report.
    command: String,
    /// The command that writes the C code, if there can be any.
    code: Option<String>,
    /// The budget for which there is a table of all ways.
    budget: Option<String>,
}

/// What takes longer: all ways to make the model fit.
#[derive(Serialize)]
struct Ways<'a> {
    /// The report with the ways that would help, if the model does not fit.
    report: Option<String>,
    /// Multiplications of a run of the model as it came.
    macs: u64,
    table: StatedFit<'a>,
}

impl Desk {
    /// Reads a model and optimises it.
    ///
    /// # Errors
    /// If the bytes are no model, or if the form asks for what such a model cannot have.
    pub fn open(
        name: &str,
        bytes: Vec<u8>,
        wishes: &Wishes,
        progress: Option<ProgressFn>,
    ) -> Result<Self, Complaint> {
        let unknown = || serenity::Error::UnknownFormat { path: name.to_owned() };
        let format = Format::of_path(name).ok_or_else(unknown)?;
        let asked = wishes.for_model(name, format)?;
        let input = serenity::load_bytes(name, bytes, format, &asked.read_options())?;
        if input.graph().ops().is_empty() {
            return Err(Complaint::new(
                format!("`{name}` has no operators: there is nothing to schedule"),
                "give a model that computes something",
            ));
        }
        let options = options(&asked.target, &input, progress.clone())?;
        let found = optimize(&input, &options)?;
        Ok(Self { input, asked, found, options, progress, ways: None })
    }

    /// Is it known that the model does not fit the budget?
    fn is_too_large(&self) -> bool {
        let Optimized { model, plan, .. } = &self.found;
        let fits = |bytes| Account::new(&self.input, model, plan).fits(bytes);
        plan.counts_everything() && self.asked.budget.is_some_and(|budget| !fits(budget.bytes))
    }

    fn question(&self) -> Option<Question> {
        Some(Question {
            budget: self.asked.budget?.bytes,
            budget_typed: self.asked.budget_typed(),
            typed: self.asked.typed.clone(),
            allowed: Change::allowed(&[], &[]),
            names_kernels: self.asked.target.kernels.is_some(),
            name: None,
            hop: self.asked.hop,
        })
    }

    /// The report, and what can be downloaded. What would help a model that does not fit is not in it yet.
    pub fn sheet(&self) -> Sheet {
        let nothing = Fit { rows: Vec::new(), macs: 0, advice: Vec::new() };
        let model = self.model_name();
        let outputs = format!("-o {model} -o report.html --plan plan.json");
        Sheet {
            report: self.report(self.is_too_large().then(|| Arc::new(nothing))),
            command: self.asked.command("optimize", &outputs),
            code: self.emitting().is_ok().then(|| self.asked.command("emit c", "-o code")),
            budget: self.asked.budget.map(|budget| budget.to_string()),
            model,
        }
    }

    fn report(&self, ways: Option<Arc<Fit>>) -> String {
        let asked = PageOptions {
            budget: self.asked.budget.map(|budget| budget.bytes),
            budget_typed: self.asked.budget_typed(),
            ways,
            typed: self.asked.typed.clone(),
            ..PageOptions::default()
        };
        page(&self.input, &self.found, &self.options, &asked).to_html()
    }

    /// The table of all ways as JSON, if there is a budget, and the report with those that help.
    ///
    /// # Errors
    /// If the model cannot be planned at all.
    pub fn ways(&mut self) -> Result<Option<String>, Complaint> {
        let Some(question) = self.question() else { return Ok(None) };
        // The table is that of `serenity fit`, whatever changes the form asks for.
        let target = Target { rewrites: None, loops: None, int8_io: false, ..self.asked.target.clone() };
        let options = options(&target, &self.input, self.progress.clone())?;
        let fit = Arc::new(serenity_fit::fit(&self.input, &options, &question)?);
        let table = StatedFit::new(&fit, self.options.model, &question, fit.first(|_| true));
        let report = self.is_too_large().then(|| self.report(Some(Arc::clone(&fit))));
        let ways = serde_json::json!(Ways { report, macs: fit.macs, table }).to_string();
        self.ways = Some(fit);
        Ok(Some(ways))
    }

    /// One of the files: `model`, `plan`, `code`, or the number of a row of the table.
    ///
    /// # Errors
    /// If the model cannot be written so.
    pub fn file(&self, which: &str) -> Result<Vec<u8>, Complaint> {
        match which {
            "model" => self.model(&self.found),
            "plan" => Ok(PlanFile::text(StatedPlan::of(&self.found.plan)).into_bytes()),
            "code" => Ok(archive(&self.code()?)),
            row => self.way(row),
        }
    }

    fn model_name(&self) -> String {
        format!("smaller.{}", self.input.file.format().extensions()[0])
    }

    fn model(&self, found: &Optimized) -> Result<Vec<u8>, Complaint> {
        if self.input.file.format().has_weights() {
            return Ok(planned_model(&found.model, &found.plan)?);
        }
        Ok(serenity::ir::json::write(&reordered_graph(&found.model, &found.plan)?).into_bytes())
    }

    fn way(&self, row: &str) -> Result<Vec<u8>, Complaint> {
        let row = row.parse().ok().and_then(|row: usize| self.ways.as_ref()?.rows.get(row));
        let made = row.and_then(|row| row.outcome.as_ref().ok());
        match made.map(|made| (&made.code, &made.found)) {
            Some((Some(code), _)) => Ok(archive(code)),
            Some((None, Some(found))) => self.model(found),
            _ => Err(Complaint::new("there is no file for this way", "choose another row of the table")),
        }
    }

    /// The options of a search for the kernels of emitted C.
    fn emitting(&self) -> Result<Options, Complaint> {
        let target = &self.asked.target;
        let model = target.with_emitted_kernels(target.model(&self.input)?)?;
        serenity::code::check_whole(&self.input)?;
        serenity::code::check_covered(&self.input, target.int8_io, model.kernels().unwrap_or_default())?;
        Ok(searching(target.options(&self.input, model)?, self.progress.clone()))
    }

    /// The model as C.
    fn code(&self) -> Result<Emitted, Complaint> {
        let options = self.emitting()?;
        let found = optimize(&self.input, &options)?;
        Ok(best_code(&self.input, &found, &options, &prefix_of(&self.input.name))?.0)
    }
}

/// The options of a search for what was asked.
fn options(target: &Target, input: &Input, progress: Option<ProgressFn>) -> Result<Options, Complaint> {
    Ok(searching(target.options(input, target.model(input)?)?, progress))
}

/// These options with the limits of a page.
fn searching(options: Options, progress: Option<ProgressFn>) -> Options {
    let limits = Limits::lasting(LONGEST).holding(MOST_MEMORY);
    Options { progress, plan_arena: true, threads: 1, limits, ..options }
}

fn archive(code: &Emitted) -> Vec<u8> {
    let files = Layout::Plain.files(code).into_iter();
    zip(&files.map(|(path, text)| (format!("code/{path}"), text)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;

    fn open(wishes: &Wishes) -> Desk {
        Desk::open("net.tflite", network("swiftnet-c").unwrap(), wishes, None).unwrap()
    }

    fn with_budget(budget: &str) -> Wishes {
        Wishes { budget: budget.to_owned(), ..Wishes::default() }
    }

    #[test]
    fn the_smaller_model_is_a_model_and_its_plan_a_plan() {
        let mut desk = open(&Wishes::default());
        let sheet = desk.sheet();
        assert_eq!((sheet.model.as_str(), sheet.budget), ("smaller.tflite", None));
        assert!(sheet.report.starts_with("<!DOCTYPE html>") && desk.ways().unwrap().is_none());
        let model = desk.file("model").unwrap();
        let again = Desk::open("smaller.tflite", model, &Wishes::default(), None).unwrap();
        assert_eq!(again.found.plan.before.needs(), desk.found.plan.after.needs());
        let plan = String::from_utf8(desk.file("plan").unwrap()).unwrap();
        assert_eq!(PlanFile::parse(&plan).unwrap().peak, desk.found.plan.after.peak);
    }

    #[test]
    fn what_does_not_fit_comes_with_all_ways_and_their_files() {
        let mut desk = open(&Wishes { hop: "2".to_owned(), ..with_budget("28KiB") });
        let (first, remedies) = (desk.sheet().report, "What would make it fit");
        assert!(first.contains("Does not fit 28 KiB") && !first.contains(remedies));
        let made: serde_json::Value = serde_json::from_str(&desk.ways().unwrap().unwrap()).unwrap();
        assert!(made["report"].as_str().unwrap().contains(remedies));
        let table = &made["table"];
        let ways = table["ways"].as_array().unwrap();
        for (row, way) in ways.iter().enumerate() {
            let has_file = !way["command"].is_null();
            assert_eq!(desk.file(&row.to_string()).is_ok(), has_file, "{way}");
        }
        assert!(
            ways.iter().any(|way| way["fits"] == true && way["name"].as_str().unwrap().contains("C code"))
        );
        assert!(ways.iter().any(|way| way["name"].as_str().unwrap().contains("windows slid")));
        assert!(desk.file("code").unwrap().starts_with(b"PK"));
    }

    #[test]
    fn what_is_no_model_is_refused_in_words() {
        for (name, bytes, part) in [
            ("net.txt", "", "cannot tell the format"),
            ("net.tflite", "no model", "net.tflite"),
            ("net.onnx", "no model", "net.onnx"),
            ("net.json", "{", "net.json"),
            ("net.json", r#"{"tensors": [], "ops": [], "inputs": [], "outputs": []}"#, "no operators"),
        ] {
            let complaint = Desk::open(name, bytes.into(), &Wishes::default(), None).err().unwrap();
            assert!(complaint.message.contains(part), "{complaint:?}");
        }
        let loops = Wishes { loops: "10".to_owned(), ..Wishes::default() };
        let graph = r#"{"tensors": [{"id": 0, "bytes": 4}], "ops": [{"type": "A", "inputs": [], "outputs": [0]}], "inputs": [], "outputs": [0]}"#;
        let complaint = Desk::open("net.json", graph.into(), &loops, None).err().unwrap();
        assert!(complaint.message.contains("is for .tflite models") && complaint.help.is_some());
    }
}
