#!/usr/bin/env python3
"""The umbrella header compiles in 2 s, README's program in 3 s (processor time, the best of three).

    compile_time.py COMPILER INCLUDE_FOLDER GENERATED_FOLDER README_PROJECT_SCRIPT"""
import pathlib
import resource
import subprocess
import sys
import tempfile

compiler, include, generated, readme_script = sys.argv[1:5]


def seconds(source, *arguments):
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([compiler, "-std=c++20", f"-I{include}", f"-I{generated}", *arguments, source], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


with tempfile.TemporaryDirectory() as folder:
    umbrella = pathlib.Path(folder) / "umbrella.cpp"
    umbrella.write_text("#include <tantu/tantu.h>\n")
    subprocess.run([sys.executable, readme_script, folder], check=True)
    header = seconds(umbrella, "-fsyntax-only")
    program = seconds(pathlib.Path(folder) / "main.cpp", "-c", "-O2", "-o", f"{folder}/main.o")
print(f"umbrella header {header:.2f} s (limit 2), README's program {program:.2f} s (limit 3)")
sys.exit(0 if header <= 2 and program <= 3 else 1)
