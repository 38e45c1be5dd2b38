//! `kernels.h` and `kernels.c`: those pieces that are needed, under the names of this model.

use super::top;
use crate::emitter::Emitter;
use crate::fragments::{Fragment, with_needs};

pub(super) fn texts(emitter: &Emitter) -> [String; 2] {
    let prefix = &emitter.prefix;
    let upper = prefix.to_uppercase();
    let all = with_needs(&emitter.fragments);
    let own = |text: &str| text.replace("kn_", &format!("{prefix}_")).replace("KN_", &format!("{upper}_"));
    let public: Vec<String> =
        all.iter().map(|one| own(one.public())).filter(|text| !text.is_empty()).collect();
    let private: Vec<String> = all.iter().map(|one| own(one.private())).collect();
    let math = if all.contains(&Fragment::Wide) { "#include <float.h>\n#include <math.h>\n" } else { "" };
    let header = format!(
        "{}#ifndef {upper}_KERNELS_H\n#define {upper}_KERNELS_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        top(&format!("Kernels of {prefix}: each says in which order it reads and writes.")),
        public.join("\n")
    );
    let code = format!(
        "{}#include \"kernels.h\"\n\n{math}#include <stddef.h>\n#include <string.h>\n\n{}",
        top(&format!("Kernels of {prefix}.")),
        private.join("\n")
    );
    [header, code]
}
