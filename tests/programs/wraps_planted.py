#!/usr/bin/env python3
"""wraps_planted.py ROOT BUILD: the tests on tensors larger than memory fail where a kernel counts in 32 bits.

Narrows one index in a copy of a kernel's source, builds the virtual GPU's library with it and runs the test that must fail.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from races_planted import library_with

# Header or source, source that is compiled, what to narrow, the test that must see it.
PLANTED = [("layer_norm.cu", "layer_norm.cu", "r * n, packs}, n, centered, shared)", "static_cast<int>(r * n), packs}, n, centered, shared)",
            "pitfall 1: rows*"),
           ("reduce_gpu.cuh", "sum.cu", "reduce_piece(op, x, s, from, begin", "reduce_piece(op, x, s, from & 0x7fffffff, begin", "pitfall 1: rows*"),
           ("index.cu", "index.cu", "const T* from = x + (place +", "const T* from = x + static_cast<unsigned>(place & 0x7fffffff) + (0 +",
            "pitfall 3*"),
           ("multi_tensor.cuh", "optim.cu", "const int64_t start = (static_cast<int64_t>(blockIdx.x) - t.first_chunk) * kTensorChunk;",
            "const int64_t start = static_cast<unsigned>((static_cast<int64_t>(blockIdx.x) - t.first_chunk) * kTensorChunk);", "pitfall 4*"),
           ("copy_cast.cuh", "copy.cu", "for (int64_t i = thread_number(); i < n; i += thread_count()) {",
            "for (int i = static_cast<int>(thread_number()); i < n; i += static_cast<int>(thread_count())) {", "pitfall 1: elements*")]


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    missed = 0
    for name, source, old, new, test in PLANTED:
        text = (root / "kernels" / name).read_text()
        assert old in text, f"{name} has no more: {old}"
        with tempfile.TemporaryDirectory() as temporary:
            library_with(root, build, name, text.replace(old, new, 1), source, pathlib.Path(temporary))
            environment = dict(os.environ, LD_LIBRARY_PATH=temporary, TANTU_VGPU_DEVICES="1", TANTU_VGPU_MEMORY="512G",
                               TANTU_VGPU_POISON="0", TANTU_VGPU_GUARD="0", TANTU_ALLOC_CONF="caching:off")
            result = subprocess.run([str(build / "tests/test_limits"), test], env=environment, capture_output=True, text=True, timeout=300)
        caught = result.returncode == 1
        missed += not caught
        print(f"{name}, {test}: {'failed as it must' if caught else f'NOT SEEN (exit {result.returncode})'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
