"""Lets a PyTorch that was built for CUDA load on a machine without it: puts empty libraries in the place of the missing ones.

They hold the names that PyTorch's own libraries ask for, each as a function that does nothing, so that the loader is content; nothing on a CPU calls them. Needs a C compiler and binutils. Run by
scripts/test-torch, in the environment that it is for.
"""

import collections
import importlib.util
import pathlib
import re
import subprocess
import tempfile

SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp)\.so|ld-linux")


def run(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def main() -> None:
    folder = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0]) / "lib"
    own = sorted(folder.glob("*.so*"))
    asked, defined = collections.defaultdict(set), set()  # Names by version; those that somebody here has.
    needed, library_of = set(), {}
    for library in own:
        needed.update(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library)))
        # Which library each version of names is expected from.
        file = None
        for line in run("readelf", "-VW", library).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif (found := re.search(r"Name: (\S+)\s+Flags", line)) and file:
                library_of[found[1]] = file
        for line in run("nm", "-D", library).splitlines():
            *_, kind, name = line.split()
            name, _, version = name.partition("@")
            if kind in "Uw":
                asked[version.lstrip("@")].add(name)
            else:
                defined.add(name)
    missing = sorted(name for name in needed if not SYSTEM.match(name) and name not in {file.name for file in own})
    # What has no version can come from anywhere: from the first.
    loose = {name for name in asked[""] - defined if re.match(r"cu|nv|nccl", name)}
    for index, library in enumerate(missing):
        versions = [version for version, file in library_of.items() if file == library]
        with tempfile.TemporaryDirectory() as work:
            source, script = pathlib.Path(work, "stub.c"), pathlib.Path(work, "stub.map")
            names = set().union(*(asked[version] for version in versions), loose if index == 0 else ())
            source.write_text(
                "".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names)) or "int unused;\n"
            )
            blocks = [f"{v} {{ global: {' '.join(f'{name};' for name in sorted(asked[v]))} }};\n" for v in versions]
            script.write_text("".join(blocks))
            how = [f"-Wl,--version-script={script}"] if versions else []
            run(
                "cc",
                "-shared",
                "-fPIC",
                "-w",
                "-fno-builtin",
                "-o",
                folder / library,
                source,
                f"-Wl,-soname,{library}",
                *how,
            )
    print(f"{len(missing)} libraries that PyTorch asks for are empty now")


if __name__ == "__main__":
    main()
