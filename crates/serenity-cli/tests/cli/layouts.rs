//! `emit c --layout`: the code as a library of a build, which finds all that its documentation asks for, and runs.

use crate::harness::Desk;
use serde_json::{Value, json};
use serenity_judges::{Need, skip};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs the model of which the code begins with `net_`, and prints its output.
const PROGRAM: &str = r#"#include HEADER
#include <stdio.h>
int main(void) {
    for (int i = 0; i < NET_INPUT_0_BYTES; i++) ((unsigned char *)net_input_0)[i] = (unsigned char)(i * 7);
    net_invoke();
    for (int i = 0; i < NET_OUTPUT_0_BYTES; i++) printf("%02x", ((unsigned char *)net_output_0)[i]);
    return 0;
}
"#;

/// The commands of ESP-IDF and of Zephyr, as far as our libraries call them, on top of those of `CMake`.
const COMMANDS: &str = r#"
function(idf_component_register)
  cmake_parse_arguments(ASKED "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  if(ASKED_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "not understood: ${ASKED_UNPARSED_ARGUMENTS}")
  endif()
  add_library(net_model STATIC ${ASKED_SRCS})
  target_include_directories(net_model PUBLIC ${ASKED_INCLUDE_DIRS})
  target_link_libraries(net_model PUBLIC m)
endfunction()
function(zephyr_include_directories)
  add_library(zephyr_interface INTERFACE)
  foreach(folder ${ARGN})
    get_filename_component(folder ${folder} ABSOLUTE)
    target_include_directories(zephyr_interface INTERFACE ${folder})
  endforeach()
endfunction()
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
  target_link_libraries(${name} PUBLIC zephyr_interface m)
endmacro()
function(zephyr_library_sources)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${source})
  endforeach()
endfunction()
"#;

#[test]
fn every_layout_is_a_library_that_its_build_takes_and_that_runs() {
    let desk = &desk();
    the_same_code_comes_in_every_layout(desk);
    cmake_builds_libraries_that_run(desk);
    an_arduino_library_has_all_that_its_specification_asks_for(desk);
    a_platformio_library_has_all_that_its_manifest_asks_for(desk);
    modules_of_zephyr_and_components_of_esp_idf_name_their_files(desk);
}

/// A folder with the code of one network in every layout.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("main.c", PROGRAM);
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "net.tflite", "--int8"]);
    for layout in ["plain", "cmake", "esp-idf", "zephyr", "arduino", "platformio"] {
        let args =
            ["emit", "c", "net.tflite", "-o", layout, "--layout", layout, "--rewrite", "none", "--json"];
        let object = desk.run(&args).json();
        for file in object["files"].as_array().unwrap() {
            assert!(desk.path(file.as_str().unwrap()).is_file(), "{layout}: {file}");
        }
    }
    desk
}

fn said(done: &Output) -> String {
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What the program prints that a C compiler makes of the code in a folder; `None` without one.
fn compiled(desk: &Desk, folder: &str, header: &str) -> Option<String> {
    static BUILDS: AtomicUsize = AtomicUsize::new(0);
    let code = ["model.c", "kernels.c"].map(|name| desk.path(folder).join(name));
    let program = desk.path(&format!("program{}", BUILDS.fetch_add(1, Ordering::Relaxed)));
    let mut command = Command::new("cc");
    command.arg(format!("-DHEADER=\"{header}\"")).arg("-I").arg(desk.path(folder));
    command.arg(desk.path("main.c")).args(code).arg("-lm").arg("-o").arg(&program);
    match command.output() {
        Err(error) => {
            skip(Need::Compiler, format!("there is no `cc` to try a library with ({error})"));
            None
        }
        Ok(done) => {
            said(&done);
            Some(said(&Command::new(program).output().unwrap()))
        }
    }
}

fn the_same_code_comes_in_every_layout(desk: &Desk) {
    for (folder, header) in [
        ("cmake", "model.h"),
        ("esp-idf", "model.h"),
        ("zephyr", "model.h"),
        ("arduino/src", "net_model.h"),
        ("platformio/src", "net_model.h"),
    ] {
        for file in ["model.c", "model.h", "kernels.c", "kernels.h"] {
            assert_eq!(
                desk.read(&format!("{folder}/{file}")),
                desk.read(&format!("plain/{file}")),
                "{folder}"
            );
        }
        let Some(printed) = compiled(desk, folder, header) else { return };
        assert_eq!(Some(printed), compiled(desk, "plain", "model.h"), "{folder}");
    }
    let text = desk
        .run(&["emit", "c", "net.tflite", "-o", "again", "--layout", "platformio", "--rewrite", "none"])
        .stdout;
    assert!(text.contains("move again into lib/") && text.contains("net.tflite again/src"), "{text}");
}

/// What the three builds on top of `CMake` make of the code prints what a compiler makes of it.
fn cmake_builds_libraries_that_run(desk: &Desk) {
    if Command::new("cmake").arg("--version").output().is_err() {
        return skip(Need::Cmake, "there is no `cmake`");
    }
    let Some(expected) = compiled(desk, "plain", "model.h") else { return };
    for layout in ["cmake", "esp-idf", "zephyr"] {
        let project = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n{COMMANDS}\nadd_subdirectory(../{layout} library)\nadd_executable(app ../main.c)\ntarget_compile_definitions(app PRIVATE HEADER=\"model.h\")\ntarget_link_libraries(app PRIVATE net_model)\n"
        );
        let folder = desk.path(&format!("app-{layout}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("CMakeLists.txt"), project).unwrap();
        let cmake =
            |args: &[&str]| said(&Command::new("cmake").args(args).current_dir(&folder).output().unwrap());
        cmake(&["-S", ".", "-B", "build"]);
        cmake(&["--build", "build"]);
        let printed = said(&Command::new(folder.join("build/app")).output().unwrap());
        assert_eq!(printed, expected, "{layout}");
    }
}

/// The fields of a file of one `name: value` or `name=value` per line.
fn fields(text: &str, separator: char) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(separator)).map(|(name, value)| (name, value.trim())).collect()
}

/// Arduino's library specification 2.2: these fields, a category of its list, and sources in `src`.
fn an_arduino_library_has_all_that_its_specification_asks_for(desk: &Desk) {
    let text = desk.read("arduino/library.properties");
    let fields = fields(&text, '=');
    for wanted in [
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
    ] {
        assert!(fields.iter().any(|(name, value)| *name == wanted && !value.is_empty()), "{wanted}: {text}");
    }
    assert!(fields.contains(&("category", "Data Processing")) && fields.contains(&("architectures", "*")));
    let (_, name) = fields[0];
    assert!(name.len() <= 63 && name.chars().all(|c| c.is_ascii_alphanumeric() || " _.-".contains(c)));
    let (_, header) = *fields.iter().find(|(name, _)| *name == "includes").unwrap();
    assert!(desk.path("arduino/src").join(header).is_file());
}

/// `library.json` of `PlatformIO`: a name of letters, digits and dashes, a version, and folders that exist.
fn a_platformio_library_has_all_that_its_manifest_asks_for(desk: &Desk) {
    let manifest: Value = serde_json::from_str(&desk.read("platformio/library.json")).unwrap();
    let name = manifest["name"].as_str().unwrap();
    assert!(
        name.len() <= 50 && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    );
    assert_eq!(manifest["version"].as_str().unwrap().split('.').count(), 3);
    assert_eq!((&manifest["frameworks"], &manifest["platforms"]), (&json!("*"), &json!("*")));
    for field in ["srcDir", "includeDir"] {
        let folder = Path::new("platformio").join(manifest["build"][field].as_str().unwrap());
        assert!(desk.path(folder.to_str().unwrap()).is_dir(), "{field}");
    }
    assert!(desk.path("platformio/src").join(manifest["headers"].as_str().unwrap()).is_file());
}

/// A module of Zephyr is found by `zephyr/module.yml`, a component of ESP-IDF by its `CMakeLists.txt`; both name existing files.
fn modules_of_zephyr_and_components_of_esp_idf_name_their_files(desk: &Desk) {
    let text = desk.read("zephyr/zephyr/module.yml");
    let module = fields(&text, ':');
    assert_eq!(module, [("name", "net_model"), ("build", ""), ("  cmake", ".")]);
    let text = desk.read("esp-idf/idf_component.yml");
    assert!(fields(&text, ':').contains(&("version", "\"1.0.0\"")), "{text}");
    for (layout, command) in
        [("zephyr", "zephyr_library_named(net_model)"), ("esp-idf", "idf_component_register(")]
    {
        let text = desk.read(&format!("{layout}/CMakeLists.txt"));
        assert!(text.contains(command), "{text}");
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let sources: Vec<&str> =
            words.filter(|word| word.split_once('.').is_some_and(|(_, end)| end == "c")).collect();
        assert_eq!(sources, ["model.c", "kernels.c"], "{layout}");
    }
}
