//! Emitted C as a library of a build system: the manifest that the build expects, beside the code.
//!
//! Every library is called after the prefix of the code, `PREFIX_model`: the name of no target that a build system has
//! itself.

use serenity_emit::{Emitted, Library};

/// The build system that takes the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// The code alone.
    #[default]
    Plain,
    /// A library of `CMake`.
    Cmake,
    /// A component of ESP-IDF.
    EspIdf,
    /// A module of Zephyr.
    Zephyr,
    /// A library of Arduino.
    Arduino,
    /// A library of `PlatformIO`.
    Platformio,
}

serenity_search::named! { "layout": Layout {
    "plain" => Plain, "cmake" => Cmake, "esp-idf" => EspIdf, "zephyr" => Zephyr, "arduino" => Arduino, "platformio" => Platformio,
} }

/// What releases of a library begin with; nobody publishes this one.
const VERSION: &str = "1.0.0";
const CODE: &str = "model.c kernels.c";
const ABOUT: &str = "A neural network in C, without an interpreter";
/// For the comments of build files.
const TOP: &str = "# Written by serenity. This file is yours.";

impl Layout {
    /// Does the build find CMSIS-NN, if the code calls it?
    pub fn finds_cmsis_nn(self) -> bool {
        matches!(self, Self::Plain | Self::Cmake)
    }

    /// The folder of the code inside the folder of the library; empty if they are the same.
    pub fn folder_of_code(self) -> &'static str {
        match self {
            Self::Plain | Self::Cmake | Self::EspIdf | Self::Zephyr => "",
            Self::Arduino | Self::Platformio => "src",
        }
    }

    /// All files with their paths in the folder of the library: the code first, then what the build expects.
    pub fn files(self, code: &Emitted) -> Vec<(String, String)> {
        let folder = self.folder_of_code();
        let within =
            |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let mut files: Vec<(String, String)> =
            code.files.iter().map(|(name, text)| (within(name), text.clone())).collect();
        files.extend(self.manifests(&code.prefix, calls_cmsis_nn(code)));
        files
    }

    fn manifests(self, prefix: &str, calls_cmsis_nn: bool) -> Vec<(String, String)> {
        let name = format!("{prefix}_model");
        let files = match self {
            Self::Plain => Vec::new(),
            Self::Cmake => vec![("CMakeLists.txt", cmake(&name, calls_cmsis_nn))],
            Self::EspIdf => vec![
                (
                    "CMakeLists.txt",
                    format!(
                        "{TOP}\nidf_component_register(SRCS \"model.c\" \"kernels.c\" INCLUDE_DIRS \".\")\n"
                    ),
                ),
                ("idf_component.yml", format!("{TOP}\nversion: \"{VERSION}\"\ndescription: {ABOUT}\n")),
            ],
            Self::Zephyr => vec![
                (
                    "CMakeLists.txt",
                    format!(
                        "{TOP}\nzephyr_include_directories(.)\nzephyr_library_named({name})\nzephyr_library_sources({CODE})\n"
                    ),
                ),
                ("zephyr/module.yml", format!("{TOP}\nname: {name}\nbuild:\n  cmake: .\n")),
            ],
            Self::Arduino => vec![("library.properties", arduino(&name)), header(prefix)],
            Self::Platformio => vec![("library.json", platformio(&name)), header(prefix)],
        };
        let own = |path: &str| path.replace("PREFIX", prefix);
        files.into_iter().map(|(path, text)| (own(path), text)).collect()
    }
}

/// Libraries of Arduino are found by the name of a header, and every one of ours has a `model.h`.
fn header(prefix: &str) -> (&'static str, String) {
    let guard = format!("{}_MODEL_LIBRARY_H", prefix.to_uppercase());
    let text = format!(
        "/* Written by serenity. */\n#ifndef {guard}\n#define {guard}\n\n#include \"model.h\"\n\n#endif\n"
    );
    ("src/PREFIX_model.h", text)
}

fn cmake(name: &str, calls_cmsis_nn: bool) -> String {
    // CMSIS-NN calls its own target so.
    let library = if calls_cmsis_nn {
        format!("target_link_libraries({name} PUBLIC cmsis-nn)\n")
    } else {
        String::new()
    };
    format!(
        "{TOP}\n# add_subdirectory(this folder), then target_link_libraries(YOURS PRIVATE {name}).\ncmake_minimum_required(VERSION 3.13)\nproject({name} LANGUAGES C)\n\nadd_library({name} STATIC {CODE})\ntarget_include_directories({name} PUBLIC \"${{CMAKE_CURRENT_SOURCE_DIR}}\")\ntarget_compile_features({name} PRIVATE c_std_11)\nif(NOT MSVC)\n  target_link_libraries({name} PUBLIC m)\nendif()\n{library}"
    )
}

fn arduino(name: &str) -> String {
    format!(
        "name={name}\nversion={VERSION}\nauthor=serenity\nmaintainer=serenity\nsentence={ABOUT}.\nparagraph=All of its memory is static.\ncategory=Data Processing\nurl=https://example.com/{name}\narchitectures=*\nincludes={name}.h\n"
    )
}

fn platformio(name: &str) -> String {
    // No underscores in the names of PlatformIO.
    let package = name.replace('_', "-");
    let manifest = serde_json::json!({
        "name": package, "version": VERSION, "description": ABOUT, "frameworks": "*", "platforms": "*",
        "headers": format!("{name}.h"), "build": { "srcDir": "src", "includeDir": "src" },
    });
    format!("{manifest:#}\n")
}

fn calls_cmsis_nn(code: &Emitted) -> bool {
    matches!(code.library, Library::CmsisNn | Library::CmsisNnMve)
}
