#!/usr/bin/env python3
"""The laws' own test: breaches planted in a copy of the tree must be found, each of them."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
planted = {
    "core/climb.cpp": ("#include <tantu/autograd/tape.h>\n", "core (floor 2) includes autograd"),
    "optim/sideways.cpp": ("#include <tantu/dist/ring.h>\n", "optim (floor 7) includes dist"),
    "nn/foreign.h": ("#include <Eigen/Core>\n", "a public header includes <Eigen/Core>"),
    "kernels/spelt.cpp": ('#include "math.h"\n', "should be spelt <tantu/...>"),
    "kernels/waits.cu": ("  cudaStreamSynchronize(stream);\n", "cudaStreamSynchronize makes the host wait"),
    "data/umbrella.cpp": ("#include <tantu/tantu.h>\n", "includes the umbrella header"),
}
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder)
    for name in ("vgpu", "core", "kernels", "autograd", "data", "nn", "optim"):
        shutil.copytree(root / name, copy / name)
    check = lambda: subprocess.run([sys.executable, root / "scripts/check_floors", copy], capture_output=True, text=True)
    clean = check()
    assert clean.returncode == 0, clean.stdout
    for path, (text, expected) in planted.items():
        (copy / path).write_text(text)
        found = check()
        assert found.returncode == 1 and f"{path}:1" in found.stdout and expected in found.stdout, (path, found.stdout)
        (copy / path).unlink()
print(f"{len(planted)} planted breaches found")
