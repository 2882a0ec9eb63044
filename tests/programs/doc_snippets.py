#!/usr/bin/env python3
"""Code that a page shows as the tree's own must be the tree's: in sections that say "the pieces below are its code", every
indented block occurs, line by line, in the file named last before it. `doc_snippets.py ROOT`."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def wrong(page, text):
    found, checked = [], 0
    for section in re.split(r"^## ", text, flags=re.M):
        if "the pieces below are its code" not in " ".join(section.split()):
            continue
        path = None
        for part in re.split(r"\n\s*\n", section):
            if not part.startswith("    "):
                named = [p for p in re.findall(r"`([\w/.]+\.\w+)`", part) if (root / p).is_file()]
                path = named[-1] if named else path
                continue
            block, code = lines_of(part), lines_of((root / path).read_text(encoding="utf-8")) if path else []
            checked += 1
            if not any(code[i:i + len(block)] == block for i in range(len(code))):
                found.append(f"{page}: not in {path}: {block[0]}")
    return found, checked


total = 0
problems = []
for page in sorted((root / "docs").glob("*.md")):
    found, checked = wrong(page.name, page.read_text(encoding="utf-8"))
    problems += found
    total += checked
planted = "## x\nthe pieces below are its code\n\n`scripts/lib.sh`:\n\n    no such line\n"
assert len(wrong("planted", planted)[0]) == 1 and total > 5
print("\n".join(problems) if problems else f"{total} pieces of code are as the tree has them")
sys.exit(1 if problems else 0)
