"""The parts that time: ceilings, bench_mem, bench_gemm. tantu-bench refuses to time what is wrong."""
import csv
import pathlib

from .commands import Job
from .plan import FAILED, PASSED, ROOT
from .record import by_code, together

NOISE = 0.01     # what the copy against itself may differ by
SUSPECT = 1.08   # a fraction above it is a cache, or wrongly counted bytes


def targets():
    """The lines of bench/targets.csv, which a pack carries along."""
    path = ROOT / "bench" / "targets.csv"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return list(csv.DictReader(lines))


def read_rows(path):
    """The rows of a bench's CSV; a line cut short by a killed program is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return []
    rows = list(csv.DictReader(line for line in lines if line.endswith("\n")))
    return [row for row in rows if None not in row and None not in row.values()]


def bench(record, part, pattern, words=()):
    """One run of tantu-bench; its rows go to record.rows[part], those of an unfinished run too."""
    path = record.work / f"{part}.csv"
    pathlib.Path(path).unlink(missing_ok=True)
    size = ["--quick"] if record.options.rehearse else ["--min-time", 0.1, *words]
    job = Job("tantu-bench", [record.place.program("tantu-bench"), "--device", record.device(), "--filter", pattern, "--csv", path, *size])

    def judge(outcome):
        wrong = [line for line in outcome.output.splitlines() if line.startswith(("WRONG", "ERROR"))]
        return (FAILED, "; ".join(wrong[:5])) if wrong else by_code(outcome)

    items, complete = record.items(part, [job], judge=judge)
    fresh = read_rows(path)
    if fresh or part not in record.rows:
        record.rows[part] = fresh
    return items, together(items, complete)


def ceilings(record):
    items, status = bench(record, "ceilings", "^ceiling_")
    rates = {row["name"].split("/")[0]: float(row["p50_s"]) for row in record.rows["ceilings"] if row["status"] == "ok"}
    if status == PASSED and not {"ceiling_copy", "ceiling_copy_again"} <= rates.keys():
        return items, FAILED
    return items, status


def noise(rows):
    """By how much the copy differs from itself; None where it was not measured twice."""
    times = {row["name"].split("/")[0]: float(row["p50_s"]) for row in rows if row["status"] == "ok"}
    if not {"ceiling_copy", "ceiling_copy_again"} <= times.keys():
        return None
    return abs(times["ceiling_copy_again"] / times["ceiling_copy"] - 1)


def bench_mem(record):
    names = sorted({target["row"].split("/")[0] for target in targets() if target["against"] == "copy" and target["row"] != "-"})
    if record.options.rehearse:
        names = ["add", "sum", "softmax"]
    return bench(record, "bench_mem", f"^({'|'.join(names)})/", ["--largest"])


def bench_gemm(record):
    names = ["matmul_cublas", "matmul_tantu"] if record.options.rehearse else ["matmul_cublas", "matmul_tantu", "matmul", "bmm", "conv2d"]
    return bench(record, "bench_gemm", f"^({'|'.join(names)})/")


def grade(target, rows):
    """(value or None, word) of a target: against the copy of the same run, or against another row at the same size. Of
    several sizes the largest counts."""
    name, against = target["row"], target["against"]
    if name == "-":  # no row yet
        return None, f"not measured: needs {target['note']}"
    mine = [row for row in rows if row["name"].startswith(name + "/") and row["status"] == "ok"]
    if not mine:
        return None, "not measured in this run"
    row = max(mine, key=lambda r: float(r["bytes"]))
    if against == "copy":
        value = float(row["frac_copy"]) if row["frac_copy"] else None
    else:
        other = row["name"].replace(name + "/", against + "/", 1)
        partner = [r for r in rows if r["name"] == other and r["status"] == "ok"]
        value = float(partner[0]["p50_s"]) / float(row["p50_s"]) if partner else None
    if value is None:
        return None, f"not measured: {against} is missing"
    if against == "copy" and value > SUSPECT:
        return value, "SUSPECT: above what memory can do"
    for level in ("stretch", "goal", "pass"):
        if target[level] != "-" and value >= float(target[level]):
            return value, level
    return value, "MISSED"
