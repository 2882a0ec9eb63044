#!/usr/bin/env python3
"""races_planted.py ROOT BUILD [--all [FILE...]]: the race checker sees a barrier that is missing from a real kernel.

Takes a barrier out of a copy of a kernel's source, builds the virtual GPU's library with it and runs the race tests: they
must stop with a report that names the file. BUILD is a build with TANTU_SANITIZE=thread. Three barriers; --all takes every
one in turn (half an hour), of these files only if any are named, and lists those whose absence goes unseen.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BARRIER = re.compile(r"__sync(?:threads|warp)\(\);")
# A source that uses the header's barriers, and the test that launches its kernels.
USERS = {"block.cuh": "scan.cu", "row_group.cuh": "layer_norm.cu", "matmul_dots.cuh": "matmul_own.cu",
         "matmul_tile.cuh": "matmul_own.cu", "matmul_wmma.cuh": "matmul_own.cu"}
TESTS = {"batch_norm.cu": "normalizations", "layer_norm.cu": "normalizations", "cross_entropy.cu": "normalizations",
         "conv.cu": "products", "matmul_own.cu": "products", "copy.cu": "copies", "optim.cu": "copies",
         "index_sort.cu": "indices", "nonzero.cu": "indices", "random_choice.cu": "indices"}
FIRST_OF = [("softmax.cu", 1), ("index_sort.cu", 3), ("matmul_tile.cuh", 0)]


def barriers(root, name):
    return [match.start() for match in BARRIER.finditer((root / "kernels" / name).read_text())]


def seen(root, build, name, number, folder):
    """Whether the race checker stops at kernels/`name` without its barrier `number`; what it printed."""
    text = (root / "kernels" / name).read_text()
    at = barriers(root, name)[number]
    line = text.count("\n", 0, at) + 1
    changed = text[:at] + BARRIER.sub("static_cast<void>(0);", text[at:], count=1)
    source = USERS.get(name, name)
    overlay = folder / "include/tantu/kernels"
    overlay.mkdir(parents=True, exist_ok=True)
    for old in overlay.iterdir():
        old.unlink()
    (overlay / name).write_text(changed)
    original = str(root / "kernels" / source)
    command = next(c for c in json.loads((build / "compile_commands.json").read_text())
                   if pathlib.Path(c["file"]).resolve() == pathlib.Path(original).resolve() and "tantu_vgpu" in c["command"])
    words = shlex.split(command["command"])
    output = words[words.index("-o") + 1]
    object_file = str(folder / "changed.o")
    words[words.index("-o") + 1] = object_file
    words = [str(overlay / name) if pathlib.Path(w).name == source and name == source and w.endswith(".cu") else w for w in words]
    compiler = next(i for i, w in enumerate(words) if re.search(r"(g\+\+|clang\+\+|c\+\+)[^/]*$", w))
    words = words[:compiler + 1] + [f"-I{folder / 'include'}"] + words[compiler + 1:]
    subprocess.run(words, cwd=build, check=True)
    library = "kernels/gpu/vgpu/libtantu_vgpu.so"
    target = next(p.name for p in (build / "kernels/gpu/vgpu").glob("libtantu_vgpu.so.*.*.*"))
    link = subprocess.run(["ninja", "-t", "commands", f"kernels/gpu/vgpu/{target}"], cwd=build, check=True, capture_output=True,
                          text=True).stdout.splitlines()[-1]
    soname = re.search(r"-soname,(\S+)", link)[1]
    link = link.replace(f"-o kernels/gpu/vgpu/{target}", f"-o {folder / soname}").replace(output, object_file)
    assert str(folder / soname) in link and object_file in link, (library, link)
    subprocess.run(link, cwd=build, check=True, shell=True)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder), TANTU_VGPU_DEVICES="1",
                       TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=1")
    test = f"every schedule: {TESTS.get(source, 'reductions')}*"
    result = subprocess.run([str(build / "tests/test_gpu"), test], env=environment, capture_output=True, text=True, errors="replace")
    caught = result.returncode == 66 and f"{name}:" in result.stderr and "ThreadSanitizer: data race" in result.stderr
    print(f"{name}:{line} without its barrier: {'race reported' if caught else f'NOT SEEN (exit {result.returncode})'}", flush=True)
    return caught


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    chosen = FIRST_OF
    if "--all" in sys.argv:
        names = sys.argv[4:] or sorted(p.name for p in root.glob("kernels/*.cu*"))
        chosen = [(name, number) for name in names for number in range(len(barriers(root, name)))]
    with tempfile.TemporaryDirectory() as temporary:
        results = [seen(root, build, name, number, pathlib.Path(temporary)) for name, number in chosen]
    print(f"{sum(results)} of {len(results)} missing barriers reported")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
