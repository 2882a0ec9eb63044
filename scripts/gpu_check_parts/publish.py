"""--publish: puts the row of a finished run into docs/hardware.md."""
from . import place as places
from . import plan, report
from .plan import FAILED, PASSED, ROOT, Usage
from .record import read

MARK = "<!-- rows: newest first -->"


def publish(options):
    results = read(options.out / "results.json")
    if not results:
        raise Usage(f"--publish: {options.out} holds no results of a run; name its folder with --out")
    if results["rehearsal"] or results["no_gpu"]:
        raise Usage("--publish: this run saw no hardware")
    if places.tree_is_dirty():
        raise Usage("--publish: the tree is dirty: commit first, so that the row can name what was run")
    if results["dirty"]:
        raise Usage("--publish: the programs of this run were built from a dirty tree")
    for part in plan.PARTS:
        status = results["parts"].get(part.name, {}).get("status", "missing")
        if part.mandatory and status not in (PASSED, FAILED):
            raise Usage(f"--publish: part {part.name} is {status}: only a complete run is published")
    page = ROOT / "docs" / "hardware.md"
    text = page.read_text(encoding="utf-8")
    if text.count(MARK) != 1:
        raise Usage(f"--publish: {page} has no line \"{MARK}\"")
    row = report.published_row(results)
    before, after = text.split(MARK)
    lines = [line for line in before.splitlines() if not line.startswith("| nothing has run yet")]
    if row in lines:
        raise Usage("--publish: this row is there already")
    head = max(number for number, line in enumerate(lines) if line.startswith("|---"))
    lines.insert(head + 1, row)
    page.write_text("\n".join(lines) + "\n" + MARK + after, encoding="utf-8")
    print(row)
    return 0
