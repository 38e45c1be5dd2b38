//! What the user says of a device: its memories, its models, and how they run.

use crate::DeviceError;
use crate::names;
use crate::written::{
    Written, WrittenFeed, WrittenForm, WrittenLoops, WrittenMemory, WrittenModel, WrittenSet, WrittenSize,
};
use serenity_runtimes::Kernels;
use std::collections::BTreeSet;
use std::path::Path;

/// A device and the models that it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// What all names in C begin with.
    pub name: String,
    /// The memories, in the order of the file.
    pub memories: Vec<Memory>,
    /// The models, in the order in which they run.
    pub models: Vec<Model>,
    /// Models of which any may be running while another one is; all others run one after the other.
    pub together: Vec<Vec<usize>>,
}

/// A memory of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The size as the user wrote it.
    pub typed: String,
    /// The section in which a linker puts what lies in it.
    pub section: Option<String>,
    /// The cost of a byte that is read.
    pub read: u64,
    /// The cost of a byte that is written.
    pub write: u64,
}

/// A model, and how it becomes C.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What its names in C begin with.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What runs it.
    pub form: Form,
    /// The memories that its tensors may lie in, the cheapest first.
    pub memories: Vec<usize>,
    /// The memory of what it keeps from one run to the next.
    pub state: usize,
    /// Whether loops may be made, and how many times as many multiplications they may add.
    pub loops: Option<f64>,
    /// Whether integers replace float inputs and outputs.
    pub int8_io: bool,
    /// Inputs that another model computes.
    pub feeds: Vec<Feed>,
}

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// C without an interpreter.
    Code,
    /// TFLM, built with these kernels.
    Tflm(Kernels),
    /// Nobody says what: only the places of its tensors are asked for.
    Places,
}

/// An input that is the output of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The model that computes it; it stands earlier in the file.
    pub from: usize,
    /// Which of its outputs.
    pub output: usize,
    /// Which input.
    pub input: usize,
}

/// The share of additional multiplications if the user names none, as that of the command.
const SHARE: f64 = 0.1;

/// More models or memories are a mistake.
const MOST: usize = 64;

/// How sizes are read: by whoever knows the units that people type.
pub type ReadSize<'a> = &'a dyn Fn(&str) -> Result<u64, String>;

impl App {
    /// Reads a file; names of models are relative to its folder.
    ///
    /// # Errors
    /// If it cannot be read, is no TOML, or contradicts itself.
    pub fn load(path: &str, size: ReadSize) -> Result<Self, DeviceError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| DeviceError::Read { path: path.to_owned(), source })?;
        Self::read(path, &text, size)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is no TOML, or contradicts itself.
    pub fn read(path: &str, text: &str, size: ReadSize) -> Result<Self, DeviceError> {
        let wrong = |reason: String| DeviceError::App { path: path.to_owned(), reason };
        let Written { name, memory, model, together } = Written::read(text).map_err(wrong)?;
        let name = name.unwrap_or_else(|| {
            let name = serenity_emit::prefix_of(path);
            // The name of the file is no choice of a name in C.
            let is_free = !is_bad_namespace(&name, &model) && model.iter().all(|model| model.name != name);
            if is_free { name } else { format!("{name}_{OWN_NAME}") }
        });
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        Reader { folder, size }.app(name, memory, model, &together).map_err(wrong)
    }
}

/// What the names of a device begin with that has no file of its own.
const OWN_NAME: &str = "device";

/// A memory that is told in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMemory {
    /// Its name.
    pub name: String,
    /// The size as the user wrote it.
    pub size: String,
}

impl App {
    /// A device that runs one model: as C, or by TFLM if the kernels that it is built with are named. The first memory
    /// is the fast one.
    ///
    /// # Errors
    /// If what is said contradicts itself.
    pub fn of_model(
        file: &str,
        memories: Vec<NamedMemory>,
        kernels: Option<&str>,
        size: ReadSize,
    ) -> Result<Self, DeviceError> {
        let name = serenity_emit::prefix_of(file).to_ascii_lowercase();
        let is_free = name != OWN_NAME && names::check("model", &name).is_ok();
        let model = WrittenModel {
            name: if is_free { name } else { "net".to_owned() },
            file: file.to_owned(),
            form: if kernels.is_some() { WrittenForm::Tflm } else { WrittenForm::C },
            kernels: kernels.map(str::to_owned),
            memories: None,
            state: None,
            loops: WrittenLoops::None,
            int8_io: false,
            feed: Vec::new(),
        };
        let reader = Reader { folder: Path::new(""), size };
        let memories = memories.into_iter().map(WrittenMemory::from).collect();
        let app = reader.app(OWN_NAME.to_owned(), memories, vec![model], &[]);
        app.map_err(|reason| DeviceError::App { path: file.to_owned(), reason })
    }
}

impl App {
    /// The memories of a device, the fast one first, and one model in them of which only places are asked for.
    ///
    /// # Errors
    /// If a size is none.
    pub(crate) fn of_places(
        name: &str,
        memories: Vec<NamedMemory>,
        size: ReadSize,
    ) -> Result<Self, DeviceError> {
        let reader = Reader { folder: Path::new(""), size };
        let written = memories.into_iter().map(WrittenMemory::from).enumerate();
        let memories: Result<Vec<Memory>, String> =
            written.map(|(rank, memory)| reader.memory(rank, memory)).collect();
        let memories = memories.map_err(|reason| DeviceError::App { path: name.to_owned(), reason })?;
        let model = Model {
            name: name.to_owned(),
            file: name.to_owned(),
            form: Form::Places,
            memories: (0..memories.len()).collect(),
            state: 0,
            loops: None,
            int8_io: false,
            feeds: Vec::new(),
        };
        Ok(Self { name: name.to_owned(), memories, models: vec![model], together: Vec::new() })
    }
}

impl From<NamedMemory> for WrittenMemory {
    fn from(NamedMemory { name, size }: NamedMemory) -> Self {
        Self { name, size: WrittenSize::Text(size), section: None, read: None, write: None }
    }
}

struct Reader<'a> {
    folder: &'a Path,
    size: ReadSize<'a>,
}

impl Reader<'_> {
    fn app(
        &self,
        name: String,
        memories: Vec<WrittenMemory>,
        models: Vec<WrittenModel>,
        together: &[WrittenSet],
    ) -> Result<App, String> {
        if memories.is_empty() {
            return Err(
                "there is no memory: add [[memory]], and below it name = \"sram\" and size = \"256 KiB\""
                    .to_owned(),
            );
        }
        if models.is_empty() {
            return Err(
                "there is no model: add [[model]], and below it name = \"kws\" and file = \"kws.tflite\""
                    .to_owned(),
            );
        }
        if memories.len().max(models.len()) > MOST {
            return Err(format!("more than {MOST} memories or models"));
        }
        check_names(&name, &memories, &models)?;
        let memories: Vec<Memory> = memories
            .into_iter()
            .enumerate()
            .map(|(rank, memory)| self.memory(rank, memory))
            .collect::<Result<_, _>>()?;
        let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
        let models: Vec<Model> = models
            .into_iter()
            .enumerate()
            .map(|(index, model)| self.model(index, model, &memories, &names))
            .collect::<Result<_, _>>()?;
        let together = together
            .iter()
            .map(|WrittenSet(set)| set.iter().map(|name| find("together", "model", &names, name)).collect())
            .collect::<Result<Vec<Vec<usize>>, _>>()?;
        let app = App { name, memories, models, together };
        app.check_sets()?;
        Ok(app)
    }

    fn memory(&self, rank: usize, memory: WrittenMemory) -> Result<Memory, String> {
        let WrittenMemory { name, size, section, read, write } = memory;
        let typed = match size {
            WrittenSize::Bytes(bytes) => bytes.to_string(),
            WrittenSize::Text(text) => text,
        };
        let size = (self.size)(&typed)
            .map_err(|expected| format!("memory `{name}`: `size` is \"{typed}\": {expected}"))?;
        if size == 0 {
            return Err(format!("memory `{name}`: `size` is 0: give its bytes, or leave the memory out"));
        }
        if section.as_ref().is_some_and(|section| !section.chars().all(is_plain)) {
            return Err(format!("memory `{name}`: `section` has only letters, digits, and . _ - $"));
        }
        let cost = 1 + rank as u64;
        Ok(Memory { name, size, typed, section, read: read.unwrap_or(cost), write: write.unwrap_or(cost) })
    }

    fn model(
        &self,
        index: usize,
        model: WrittenModel,
        memories: &[Memory],
        models: &[String],
    ) -> Result<Model, String> {
        let WrittenModel { name, file, form, kernels, memories: allowed, state, loops, int8_io, feed } =
            model;
        let place = format!("model `{name}`");
        let form = form_of(form, kernels.as_deref()).map_err(|reason| format!("{place}: {reason}"))?;
        let names: Vec<String> = memories.iter().map(|memory| memory.name.clone()).collect();
        let find_memory = |wanted: &String| find(&place, "memory", &names, wanted);
        let mut allowed: Vec<usize> = match allowed {
            Some(allowed) => allowed.iter().map(find_memory).collect::<Result<_, _>>()?,
            None => (0..memories.len()).collect(),
        };
        if allowed.is_empty() {
            return Err(format!("{place}: `memories` is empty; leave it out to allow all"));
        }
        allowed.sort_by_key(|&memory| (memories[memory].read + memories[memory].write, memory));
        allowed.dedup();
        // State is touched once or twice a run: the fast memory is for tensors.
        let largest = allowed.iter().copied().rev().max_by_key(|&memory| memories[memory].size);
        let state = state.as_ref().map(find_memory).transpose()?.or(largest).unwrap_or_default();
        let feeds = feed
            .into_iter()
            .map(|WrittenFeed { from, output, input }| {
                let from = find(&place, "model", models, &from)?;
                if from == index {
                    return Err(format!(
                        "{place} feeds itself: in one round each model runs once; copy what goes from one round to the next yourself"
                    ));
                }
                if from > index {
                    let from = &models[from];
                    return Err(format!(
                        "{place}: `{from}` feeds it, so move [[model]] `{from}` above it; models that feed each other have no order"
                    ));
                }
                Ok(Feed { from, output, input })
            })
            .collect::<Result<Vec<Feed>, String>>()?;
        let inputs: BTreeSet<usize> = feeds.iter().map(|feed| feed.input).collect();
        if inputs.len() < feeds.len() {
            return Err(format!("{place}: two feeds go to the same input; say `input = 1` for another one"));
        }
        let loops = match loops {
            WrittenLoops::None | WrittenLoops::Wanted(false) => None,
            WrittenLoops::Wanted(true) => Some(SHARE),
            WrittenLoops::Percent(percent) if (0.0..=10_000.0).contains(&percent) => Some(percent / 100.0),
            WrittenLoops::Percent(_) => {
                return Err(format!("{place}: `loops` is true, or a percentage of extra multiplications"));
            }
        };
        let file = if file.starts_with("zoo:") {
            file
        } else {
            self.folder.join(file).to_string_lossy().into_owned()
        };
        Ok(Model { name, file, form, memories: allowed, state, loops, int8_io, feeds })
    }
}

impl App {
    /// Each model is in one set at most, and is not fed by one that runs at the same time.
    fn check_sets(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for &model in self.together.iter().flatten() {
            if !seen.insert(model) {
                return Err(format!("together: `{}` is there twice", self.models[model].name));
            }
        }
        for (index, model) in self.models.iter().enumerate() {
            let is_late = |feed: &&Feed| self.moment(feed.from) >= self.moment(index);
            if let Some(feed) = model.feeds.iter().find(is_late) {
                let (fed, from) = (&model.name, &self.models[feed.from].name);
                return Err(if self.moment(feed.from) == self.moment(index) {
                    format!("`{from}` feeds `{fed}`, so they cannot run together")
                } else {
                    format!(
                        "`{from}` feeds `{fed}`, which runs together with a model that stands before `{from}`"
                    )
                });
            }
        }
        Ok(())
    }

    /// The moments of a round: sets of models that may run at the same time, in the order of the file.
    pub fn moments(&self) -> Vec<Vec<usize>> {
        let set_of = |model: usize| self.together.iter().find(|set| set.contains(&model));
        let mut moments: Vec<Vec<usize>> = Vec::new();
        for model in 0..self.models.len() {
            if moments.iter().any(|moment| moment.contains(&model)) {
                continue;
            }
            let mut moment = set_of(model).cloned().unwrap_or_else(|| vec![model]);
            moment.sort_unstable();
            moments.push(moment);
        }
        moments
    }

    /// Does a model get its only input that is fed straight from where it was computed? Nothing else runs in between.
    pub(crate) fn takes_directly(&self, fed: usize) -> bool {
        let [feed] = self.models[fed].feeds[..] else { return false };
        let is_alone = self.moments().iter().any(|running| *running == [fed]);
        is_alone && self.moment(feed.from) + 1 == self.moment(fed)
    }

    /// May two models run at the same time?
    pub(crate) fn run_together(&self, one: usize, other: usize) -> bool {
        one != other && self.together.iter().any(|set| set.contains(&one) && set.contains(&other))
    }

    /// The memory in which a byte costs least; of equals, the first.
    pub(crate) fn cheapest_memory(&self) -> Option<usize> {
        (0..self.memories.len())
            .min_by_key(|&memory| self.memories[memory].read + self.memories[memory].write)
    }

    /// The outputs of a model that others take.
    pub(crate) fn outputs_taken(&self, from: usize) -> BTreeSet<usize> {
        let feeds = self.models.iter().flat_map(|model| &model.feeds);
        feeds.filter(|feed| feed.from == from).map(|feed| feed.output).collect()
    }

    /// The moment in which a model runs.
    pub(crate) fn moment(&self, model: usize) -> usize {
        self.moments().iter().position(|moment| moment.contains(&model)).unwrap_or_default()
    }
}

/// What runs a model. TFLM asks for other buffers with other kernels, so these must be named.
fn form_of(form: WrittenForm, kernels: Option<&str>) -> Result<Form, String> {
    let all = || Kernels::all().filter(|(_, set)| !set.are_emitted() && *set != Kernels::Any);
    match (form, kernels) {
        (WrittenForm::C, None) => Ok(Form::Code),
        (WrittenForm::C, Some(_)) => {
            Err("`kernels` is for TFLM: say as = \"tflm\", or leave it out".to_owned())
        }
        (WrittenForm::Tflm, kernels) => {
            let found = all().find(|(name, _)| Some(*name) == kernels);
            found.map(|(_, set)| Form::Tflm(set)).ok_or_else(|| {
                let names: Vec<&str> = all().map(|(name, _)| name).collect();
                let unknown =
                    kernels.map_or_else(String::new, |name| format!("there are no kernels `{name}`; "));
                let names = names.join(", ");
                format!("{unknown}`kernels` says which kernels your TFLM is built with: {names}")
            })
        }
    }
}

/// Is a namespace of this name wanted that C++ cannot have? Only the header for TFLM has one.
fn is_bad_namespace(app: &str, models: &[WrittenModel]) -> bool {
    names::is_reserved(app) && models.iter().any(|model| matches!(model.form, WrittenForm::Tflm))
}

/// Refuses names that would make bad C, or the same names twice.
fn check_names(app: &str, memories: &[WrittenMemory], models: &[WrittenModel]) -> Result<(), String> {
    let memories: Vec<&str> = memories.iter().map(|memory| memory.name.as_str()).collect();
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    names::check("device", app)?;
    memories.iter().try_for_each(|name| names::check("memory", name))?;
    names.iter().try_for_each(|name| names::check("model", name))?;
    names::check_differ("memories", memories.iter().copied())?;
    names::check_differ("models", names.iter().copied())?;
    if names.contains(&app) {
        return Err(format!("the device and a model are both called `{app}`: rename one of them"));
    }
    if is_bad_namespace(app, models) {
        return Err(format!(
            "device `{app}`: C++ cannot have a namespace of this name; take another one, as in name = \"{app}_{OWN_NAME}\""
        ));
    }
    names::check_identifiers(app, &memories, &names)
}

/// A sign that the name of a section may have.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '$')
}

fn find(place: &str, what: &str, names: &[String], wanted: &str) -> Result<usize, String> {
    names
        .iter()
        .position(|name| name == wanted)
        .ok_or_else(|| format!("{place}: there is no {what} `{wanted}`; there are `{}`", names.join("`, `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(text: &str) -> Result<App, String> {
        let size = |text: &str| text.parse().map_err(|_| "a size".to_owned());
        App::read("dir/app.toml", text, &size).map_err(|error| error.to_string())
    }

    const TWO: &str =
        "[[memory]]\nname = \"fast\"\nsize = \"100\"\n[[memory]]\nname = \"slow\"\nsize = 1000\n";

    #[test]
    fn what_is_not_said_has_a_default() {
        let app =
            app(&format!("{TWO}[[model]]\nname = \"kws\"\nfile = \"kws.tflite\"\nloops = true\n")).unwrap();
        assert_eq!((app.name.as_str(), app.memories[1].read, app.memories[1].size), ("app", 2, 1000));
        let model = &app.models[0];
        assert_eq!(
            (model.file.as_str(), &model.memories[..], model.state),
            ("dir/kws.tflite", &[0, 1][..], 1)
        );
        assert_eq!((model.loops, app.moments()), (Some(0.1), vec![vec![0]]));
    }

    #[test]
    fn one_model_needs_no_file() {
        let size = |text: &str| text.parse().map_err(|_| "a size".to_owned());
        let memory = |name: &str| NamedMemory { name: name.to_owned(), size: "100".to_owned() };
        let of = |file, memories: &[&str], kernels| {
            App::of_model(file, memories.iter().map(|name| memory(name)).collect(), kernels, &size)
        };
        let app = of("dir/KWS.tflite", &["fast", "slow"], None).unwrap();
        let written = format!(
            "name = \"device\"\n{}[[model]]\nname = \"kws\"\nfile = \"dir/KWS.tflite\"",
            TWO.replace("1000", "\"100\"")
        );
        assert_eq!(app, App::read("app.toml", &written, &size).unwrap());
        for (file, name) in [("device.tflite", "net"), ("8.tflite", "m8")] {
            assert_eq!(of(file, &["fast"], Some("reference")).unwrap().models[0].name, name);
        }
        let refused = |memories: &[&str], kernels| of("m.tflite", memories, kernels).unwrap_err().to_string();
        assert!(refused(&["fast", "fast"], None).contains("two memories are called `fast`"));
        assert!(refused(&["fast"], Some("any")).contains("says which kernels your TFLM is built with"));
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        let model = |name: &str, rest: &str| format!("[[model]]\nname = \"{name}\"\nfile = \"f\"\n{rest}\n");
        let (a, b) = (model("a", ""), model("b", "[[model.feed]]\nfrom = \"a\""));
        let cases = [
            ("x = 1".to_owned(), "line 1: unknown field `x`"),
            (TWO.to_owned(), "there is no model: add [[model]]"),
            (a.clone(), "there is no memory: add [[memory]]"),
            (format!("{TWO}{}", model("A b", "")), "model `A b`: a name begins with"),
            (format!("{TWO}{a}{a}"), "two models are called `a`"),
            (format!("{TWO}{b}{a}"), "model `b`: `a` feeds it, so move [[model]] `a` above it"),
            (format!("together = [[\"a\", \"b\"]]\n{TWO}{a}{b}"), "cannot run together"),
            (format!("together = [[\"a\", \"c\"]]\n{TWO}{a}{b}"), "there is no model `c`"),
            (format!("{TWO}{}", model("a", "memories = [\"psram\"]")), "there is no memory `psram`"),
            (format!("{TWO}{}", model("a", "loops = -1.0")), "`loops` is true, or a percentage"),
        ];
        for (text, expected) in cases {
            let message = app(&text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
