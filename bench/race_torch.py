#!/usr/bin/env python3
"""Races tantu's training step against PyTorch's: a 784-512-512-10 MLP, batch 128, AdamW, on the CPU.

    python bench/race_torch.py build/bench/train_step [--pairs 30] [--steps 20]

Run it with a Python that has torch. Both sides start from the same seed, and their losses are compared first. Then the two
take turns (tantu, torch, torch, tantu, ...) with 1 thread and with 2; printed are the medians and the median of the paired
ratios torch / tantu: above 1 tantu is faster. PyTorch takes the fastest of its AdamW settings."""
import argparse
import statistics
import subprocess
import sys
import time

import torch


class Tantu:
    def __init__(self, program, threads):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(f"threads {threads}\n")

    def run(self, steps):
        self.process.stdin.write(f"steps {steps}\n")
        self.process.stdin.flush()
        seconds, loss = self.process.stdout.readline().split()
        return float(seconds), float(loss)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Torch:
    def __init__(self, **settings):
        torch.manual_seed(1)
        nn = torch.nn
        self.model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=1e-2, **settings)
        self.x, self.y = torch.rand(128, 784), torch.randint(0, 10, (128,))

    def run(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            loss = torch.nn.functional.cross_entropy(self.model(self.x), self.y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            last = loss.item()
        return time.perf_counter() - start, last


def fastest_settings(steps):
    best = None
    for settings in ({}, {"foreach": True}, {"fused": True}):
        try:
            side = Torch(**settings)
            side.run(5)
            seconds = min(side.run(steps)[0] for _ in range(5))
        except Exception as error:  # an older PyTorch lacks a setting
            print(f"  torch AdamW {settings}: not available ({error})")
            continue
        print(f"  torch AdamW {settings or 'default'}: {seconds / steps * 1e3:.3f} ms a step")
        if best is None or seconds < best[0]:
            best = (seconds, settings)
    return best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    print(f"torch {torch.__version__}")
    slower = False
    for threads in (1, 2):
        torch.set_num_threads(threads)
        print(f"{threads} thread(s)")
        settings = fastest_settings(args.steps)
        ours, theirs = Tantu(args.program, threads), Torch(**settings)
        for step in range(5):
            (_, a), (_, b) = ours.run(1), theirs.run(1)
            if not abs(a - b) <= 1e-4 * max(1, abs(b)):
                print(f"step {step}: the losses differ: tantu {a}, torch {b}")
                return 1
        ours.run(args.steps), theirs.run(args.steps)
        pairs = []
        for i in range(args.pairs):
            if i % 2 == 0:
                a, b = ours.run(args.steps)[0], theirs.run(args.steps)[0]
            else:
                b, a = theirs.run(args.steps)[0], ours.run(args.steps)[0]
            pairs.append((a, b))
        ours.close()
        ratio = statistics.median(b / a for a, b in pairs)
        low, high = statistics.quantiles([b / a for a, b in pairs], n=4)[::2]
        print(f"  tantu {statistics.median(a for a, _ in pairs) / args.steps * 1e3:.3f} ms, "
              f"torch {statistics.median(b for _, b in pairs) / args.steps * 1e3:.3f} ms a step; "
              f"torch / tantu = {ratio:.3f} (quartiles {low:.3f} to {high:.3f})")
        slower |= ratio < 1
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
