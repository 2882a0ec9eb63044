#!/usr/bin/env python3
"""exports.py ROOT LIBRARY CONTEXT: a GPU library exports the kernels that kernels/*.h declare for its context, and nothing else."""
import pathlib
import re
import subprocess
import sys

root, library, context = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
declared = {match[1] for path in (root / "kernels").glob("*.h")
            for match in re.finditer(r"^TANTU_KERNEL\((\w+)", path.read_text(), re.M)}
symbols = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
exported, strange = set(), []
for line in symbols:
    name = line.split(maxsplit=2)[2]
    match = re.match(rf"tantu::(?:\w+::)*(\w+)\(tantu::{context}&", name)
    if match:
        exported.add(match[1])
    else:
        strange.append(name)
for name in sorted(declared - exported):
    print(f"not exported: {name}")
for name in sorted(exported - declared) + strange:
    print(f"exported, but declared by no kernel's header: {name}")
print(f"{len(exported)} kernels exported, {len(declared)} declared")
sys.exit(0 if declared == exported and not strange and len(declared) > 50 else 1)
