#!/usr/bin/env python3
"""Writes README's CMakeLists.txt and program into a folder, so that CI builds exactly what a newcomer is told to type."""
import pathlib
import re
import sys

readme = pathlib.Path(__file__).resolve().parents[2] / "README.md"
target = pathlib.Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
text = readme.read_text(encoding="utf-8")
for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "main.cpp")):
    blocks = re.findall(rf"```{language}\n(.*?)```", text, re.S)
    if len(blocks) != 1:
        sys.exit(f"README.md has {len(blocks)} {language} blocks, expected one")
    (target / name).write_text(blocks[0], encoding="utf-8")
print(f"wrote README's project to {target}")
