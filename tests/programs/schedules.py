#!/usr/bin/env python3
"""schedules.py TEST_OPS SEEDS FOLDER: the op table, small, on the virtual GPU under the schedule seeds 0..SEEDS-1.

Under every seed every row must pass, and every result must have the bits that it has under seed 0: our kernels are
deterministic. Leaves the names of the kernels launched in FOLDER/schedules.txt.
"""
import os
import pathlib
import subprocess
import sys
import time


def main():
    program, seeds, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    digests = [folder / f"schedule_{seed}.digest" for seed in range(seeds)]
    failed = False
    for seed, digest in enumerate(digests):
        digest.unlink(missing_ok=True)
        start = time.monotonic()
        environment = dict(os.environ, TANTU_VGPU_DEVICES="1", TANTU_TEST_DEVICES="vgpu:0", TANTU_TEST_SEEDS="1",
                           TANTU_TEST_SIZES="small", TANTU_VGPU_SEED=str(seed), TANTU_TEST_DIGEST=str(digest),
                           TANTU_TEST_LAUNCHES=str(folder / "schedules.txt"))
        code = subprocess.run([program, "[#op_table_test]~[finite_differences]", "-#"], env=environment).returncode
        print(f"seed {seed}: exit {code}, {time.monotonic() - start:.1f} s", flush=True)
        failed |= code != 0
    first = digests[0].read_text().splitlines()
    print(f"{len(first)} results compared")
    failed |= len(first) < 1000
    for seed, digest in enumerate(digests[1:], 1):
        lines = digest.read_text().splitlines()
        different = [(a, b) for a, b in zip(first, lines) if a != b]
        if len(lines) != len(first):
            print(f"seed {seed}: {len(lines)} results")
        for a, b in different[:10]:
            print(f"seed 0: {a}\nseed {seed}: {b}")
        print(f"seed {seed}: {len(different)} results differ from seed 0")
        failed |= bool(different) or len(lines) != len(first)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
