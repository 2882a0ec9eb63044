#!/usr/bin/env python3
"""kernels_launched.py LIBRARY FOLDER: every kernel in the virtual GPU's library is named in some FOLDER/*.txt.

The files are what TANTU_TEST_LAUNCHES left. A kernel that no test launches is one that no lane has looked at. Instances of
a template for other types count as one: those that nothing has launched are counted only.
"""
import pathlib
import re
import subprocess
import sys


def family(name):
    """matmul_tile_kernel, of "void tantu::(anonymous namespace)::matmul_tile_kernel<float, 64, 16>(Product<float>)"."""
    found = re.search(r"(\w+_kernel)\b(?=[<(]|$)", name)
    return found[1] if found else None


def main():
    library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted(folder.glob("*.txt"))
    launched = {line for path in files for line in path.read_text().splitlines()}
    symbols = subprocess.run(["nm", "-C", library], check=True, capture_output=True, text=True).stdout
    known = {match[1] for match in re.finditer(r"^[0-9a-f]+ [tT] (.*_kernel.*)$", symbols, re.M)}
    known = {name for name in known if family(name) and not re.search(r"::\{lambda|run_kernel|\[clone", name)}
    families = {family(name) for name in known}
    missing = sorted(families - {family(name) for name in launched})
    for name in missing:
        print(f"{name} was not launched")
    idle = sorted(known - launched)
    for name in idle:
        print(f"not launched: {name}")
    print(f"{len(families) - len(missing)} of {len(families)} kernels, {len(known) - len(idle)} of {len(known)} instances "
          f"launched by {len(files)} programs")
    return 1 if missing or len(families) < 70 else 0


if __name__ == "__main__":
    sys.exit(main())
