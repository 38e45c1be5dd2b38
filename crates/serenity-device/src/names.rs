//! Names that become identifiers of C and C++.

use std::collections::BTreeMap;

/// Words that cannot name a namespace: keywords of C++, what its compilers take for themselves, and functions of the C
/// library that any header may declare.
const RESERVED: &str = "\
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char8_t char16_t \
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr \
    constinit continue decltype default delete do double dynamic_cast else enum errno explicit export \
    extern false float for friend goto if inline int linux long main mutable namespace new noexcept not \
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return \
    short signed sizeof static static_assert static_cast std stderr stdin stdout struct switch template \
    tflite this thread_local throw true try typedef typeid typename union unix unsigned using virtual \
    void volatile wchar_t while xor xor_eq abort abs acos alarm asin atan atof atoi bind brk bsearch \
    calloc ceil clock close connect cos cosh daemon div dup exit exp fabs floor fork free getenv gets \
    index isalpha isspace kill link listen log longjmp malloc memchr memcmp memcpy memmove memset nice \
    open pause perror pipe pow printf putc puts qsort raise rand random read realloc recv remove rename \
    rewind round scanf select send signal sin sinh sleep socket sqrt srand strcat strchr strcmp strcpy \
    strlen sync system tan tanh time tolower toupper trunc ungetc wait write";

/// What follows the name of a model in the names of its code. Numbers of inputs and outputs are left out: a name that
/// ends in them is followed by nothing that another name could end in.
const OF_MODEL: &str = "\
    allocator arena arena_2 early invoke is_fresh is_new keep_row line lines made make_row next planner \
    push reset rest ring round row state step steps take window ALIGNED ARENA_BYTES ARENA_BY_CALLER \
    EACH_INPUT EACH_OUTPUT HAS_STATE HOP KEPT_BYTES KERNELS_H MODEL_H ROW ROWS ROW_BYTES STATE_BYTES \
    STATE_IN";

/// Can C++ have a namespace of this name?
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.split_ascii_whitespace().any(|word| word == name)
}

/// Refuses what is no name in C. `what` says whose name it is.
pub(crate) fn check(what: &str, name: &str) -> Result<(), String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_name {
        return Ok(());
    }
    let other = serenity_emit::prefix_of(&name.replace(['/', '\\', ':', '.'], "_"));
    Err(format!(
        "{what} `{name}`: a name begins with a small letter and goes on with small letters, digits or _, as in `{other}`"
    ))
}

/// Refuses a name that two of a kind have.
pub(crate) fn check_differ<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(format!("two {what} are called `{name}`: give each a name of its own"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Refuses names that differ and yet become the same identifier, such as memory `sram_arena` of device `app` beside
/// model `app_sram`: both would be `app_sram_arena`.
pub(crate) fn check_identifiers(app: &str, memories: &[&str], models: &[&str]) -> Result<(), String> {
    let upper = app.to_uppercase();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut own = |identifier: String, owner: String| match owners.insert(identifier.clone(), owner.clone()) {
        Some(other) if other != owner => {
            Err(format!("{other} and {owner} would both become `{identifier}` in C: rename one of them"))
        }
        _ => Ok(()),
    };
    for file in ["MEMORIES", "DEVICE", "TFLM"] {
        own(format!("{upper}_{file}_H"), format!("device `{app}`"))?;
    }
    for memory in memories {
        let owner = || format!("memory `{memory}` of device `{app}`");
        own(format!("{app}_{memory}"), owner())?;
        for suffix in ["BYTES", "IN"] {
            own(format!("{upper}_{}_{suffix}", memory.to_uppercase()), owner())?;
        }
    }
    for model in models {
        let owner = || format!("model `{model}`");
        for verb in ["run", "begin", "end"] {
            own(format!("{app}_{verb}_{model}"), owner())?;
        }
        own(format!("{app}_{model}_kept"), owner())?;
        for suffix in OF_MODEL.split_ascii_whitespace() {
            let is_macro = suffix.starts_with(|c: char| c.is_ascii_uppercase());
            let prefix = if is_macro { model.to_uppercase() } else { (*model).to_owned() };
            own(format!("{prefix}_{suffix}"), owner())?;
        }
        for verb in ["run", "allocate"] {
            own(format!("{verb}_{model}"), owner())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_the_same_identifier_are_refused() {
        let message = |app, memories: &[&str], models: &[&str]| {
            check_identifiers(app, memories, models).err().unwrap_or_default()
        };
        assert_eq!(message("app", &["new", "sram"], &["class", "kws", "kws_2"]), "");
        assert_eq!(
            message("app", &["run_kws"], &["kws"]),
            "memory `run_kws` of device `app` and model `kws` would both become `app_run_kws` in C: rename one of them"
        );
        for (memory, model, both) in [
            ("kws_kept", "kws", "app_kws_kept"),
            ("sram_arena", "app_sram", "app_sram_arena"),
            ("sram_state", "app_sram", "app_sram_state"),
        ] {
            assert!(message("app", &[memory], &[model]).contains(&format!("become `{both}`")));
        }
        assert!(message("app", &[], &["kws", "kws_keep"]).contains("`kws_keep_row`"));
    }

    #[test]
    fn a_bad_name_comes_with_a_good_one() {
        assert!(check("model", "Key-Word.v2").unwrap_err().ends_with("as in `key_word_v2`"));
        assert_eq!(check("model", "class"), Ok(()), "nothing is called by this name alone");
    }
}
