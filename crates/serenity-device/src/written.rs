//! The file of a device as it is written, and what is said of a file that cannot be read.

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) name: Option<String>,
    #[serde(default, deserialize_with = "memories")]
    pub(crate) memory: Vec<WrittenMemory>,
    #[serde(default, deserialize_with = "models")]
    pub(crate) model: Vec<WrittenModel>,
    #[serde(default, deserialize_with = "sets")]
    pub(crate) together: Vec<WrittenSet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenMemory {
    pub(crate) name: String,
    pub(crate) size: WrittenSize,
    pub(crate) section: Option<String>,
    #[serde(default, deserialize_with = "cost")]
    pub(crate) read: Option<u64>,
    #[serde(default, deserialize_with = "cost")]
    pub(crate) write: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a size is a number of bytes, or a text such as \"256 KiB\"")]
pub(crate) enum WrittenSize {
    Bytes(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenModel {
    pub(crate) name: String,
    pub(crate) file: String,
    #[serde(rename = "as", default)]
    pub(crate) form: WrittenForm,
    pub(crate) kernels: Option<String>,
    #[serde(default, deserialize_with = "allowed")]
    pub(crate) memories: Option<Vec<String>>,
    pub(crate) state: Option<String>,
    #[serde(default)]
    pub(crate) loops: WrittenLoops,
    #[serde(default)]
    pub(crate) int8_io: bool,
    #[serde(default, deserialize_with = "feeds")]
    pub(crate) feed: Vec<WrittenFeed>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WrittenForm {
    #[default]
    C,
    Tflm,
}

#[derive(Default, Deserialize)]
#[serde(untagged, expecting = "`loops` is true, or a percentage of extra multiplications, as in 10.0")]
pub(crate) enum WrittenLoops {
    #[default]
    None,
    Wanted(bool),
    Percent(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenFeed {
    pub(crate) from: String,
    #[serde(default, deserialize_with = "number")]
    pub(crate) output: usize,
    #[serde(default, deserialize_with = "number")]
    pub(crate) input: usize,
}

/// Models that may run at the same time.
pub(crate) struct WrittenSet(pub(crate) Vec<String>);

impl Written {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is no TOML or has other fields: the line, and what is expected there.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("line {line}: {}", plainly(error.message()))
        })
    }
}

/// A message of the reader of TOML without the words of its programmers.
fn plainly(message: &str) -> String {
    let expected = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = expected.and_then(|message| message.split_once(", expected ")) {
        return format!("expected {expected}, found {found}");
    }
    let at_the_top =
        ["together", "name"].iter().find(|field| message.starts_with(&format!("unknown field `{field}`")));
    match at_the_top {
        Some(field) => format!("{message}; `{field}` of the device stands above the first [[memory]]"),
        None => message.to_owned(),
    }
}

/// A list, and what is said where there is something else.
struct List<T> {
    expected: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}

fn list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    expected: &'static str,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { expected, of: PhantomData })
}

fn memories<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WrittenMemory>, D::Error> {
    list(from, "[[memory]] in double brackets, once per memory")
}

fn models<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WrittenModel>, D::Error> {
    list(from, "[[model]] in double brackets, once per model")
}

fn feeds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WrittenFeed>, D::Error> {
    list(from, "[[model.feed]] in double brackets below its model, and in it from = \"NAME\"")
}

fn allowed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    list(from, "a list of memories, as in memories = [\"sram\"]").map(Some)
}

/// What `together` must look like.
const SETS: &str = "a list of sets, each a list of models, as in together = [[\"kws\", \"vww\"]]";

fn sets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WrittenSet>, D::Error> {
    list(from, SETS)
}

impl<'de> Deserialize<'de> for WrittenSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        list(from, SETS).map(Self)
    }
}

fn cost<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let expected = "the cost of a byte is a whole number from 0 on; only the ratio of costs counts, so 1.5 to 1 is 3 to 2";
    u64::deserialize(from).map(Some).map_err(|_| D::Error::custom(expected))
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    usize::deserialize(from).map_err(|_| D::Error::custom("inputs and outputs are numbers, counted from 0"))
}
