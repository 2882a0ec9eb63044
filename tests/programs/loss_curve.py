#!/usr/bin/env python3
"""fashion_mnist on a device against the CPU: every recorded loss within 1e-3, without
dropout, whose masks are each device's own. loss_curve.py PROGRAM DEVICE"""
import csv
import pathlib
import subprocess
import sys
import tempfile

program, device = sys.argv[1:3]


def losses(where, folder):
    run = subprocess.run([program, "--device", where, "--epochs", "1", "--limit", "2000", "--dropout", "0", "--quiet", "--out", folder],
                         capture_output=True, text=True)
    if run.returncode:
        print(run.stdout, run.stderr)
        sys.exit(run.returncode)
    with open(pathlib.Path(folder) / "training.csv", newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
    expected, found = losses("cpu", here), losses(device, there)
assert len(expected) == len(found) > 5, (len(expected), len(found))
assert expected[-1] < expected[0], "it does not learn"
worst = max(abs(a - b) for a, b in zip(expected, found))
print(f"{len(found)} losses, from {found[0]:.4f} to {found[-1]:.4f}; the largest difference from the CPU's is {worst:.2g}")
sys.exit(0 if worst <= 1e-3 else 1)
