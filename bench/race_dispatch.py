#!/usr/bin/env python3
"""Races the cost of one call: `add` of two 16-element tensors with gradients recorded, tantu against libtorch, both in C++.

    python bench/race_dispatch.py build/bench/dispatch [--pairs 40] [--calls 100000]

Run it with a Python that has torch: bench/dispatch.cpp is built against the libtorch of that package (g++, -O3). The sums are
compared first; then the two take turns. Printed are the medians and the median of the paired ratios tantu / libtorch."""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import torch


def build(folder):
    root = os.path.dirname(torch.__file__)
    program = os.path.join(folder, "dispatch_torch")
    subprocess.run(
        ["g++", "-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-DAGAINST_TORCH", "-w",
         f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
         f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include",
         os.path.join(os.path.dirname(os.path.abspath(__file__)), "dispatch.cpp"), "-o", program,
         f"-L{root}/lib", f"-Wl,-rpath,{root}/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
    return program


class Side:
    def __init__(self, program):
        environment = dict(os.environ, OMP_NUM_THREADS="1", TANTU_NUM_THREADS="1")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        seconds, total, recorded = self.process.stdout.readline().split()
        return float(seconds) / calls, float(total), recorded == "1"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--calls", type=int, default=100000)
    args = parser.parse_args()
    print(f"torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Side(args.program), Side(build(folder))
        (_, a, a_recorded), (_, b, b_recorded) = ours.run(args.calls), theirs.run(args.calls)
        if not (abs(a - b) <= 1e-5 and a_recorded and b_recorded):
            print(f"the results differ: tantu {a} (recorded: {a_recorded}), libtorch {b} (recorded: {b_recorded})")
            return 1
        pairs = []
        for i in range(args.pairs):
            first, second = (ours, theirs) if i % 2 == 0 else (theirs, ours)
            pair = {first: first.run(args.calls)[0], second: second.run(args.calls)[0]}
            pairs.append((pair[ours], pair[theirs]))
    ratios = [a / b for a, b in pairs]
    low, high = statistics.quantiles(ratios, n=4)[::2]
    print(f"tantu {statistics.median(a for a, _ in pairs) * 1e9:.0f} ns, libtorch "
          f"{statistics.median(b for _, b in pairs) * 1e9:.0f} ns a call; tantu / libtorch = {statistics.median(ratios):.3f} "
          f"(quartiles {low:.3f} to {high:.3f}; must be at most 0.5)")
    return 0 if statistics.median(ratios) <= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
