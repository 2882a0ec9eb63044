"""What a run leaves behind: report.md, bench.csv, junit.xml beside results.json and log.txt: five flat files."""
import csv
import io
import re
from xml.sax.saxutils import quoteattr, escape

from . import plan, speed
from .plan import FAILED, PARTIAL, PASSED, SKIPPED


def parts_table(results):
    lines = ["| part | status | seconds | |", "|---|---|---:|---|"]
    for part in plan.PARTS:
        found = results["parts"].get(part.name)
        if found:
            again = " (done before)" if found.get("reused") else ""
            lines.append(f"| {part.name} | {found['status']}{again} | {found['seconds']:.1f} | {cell(found['sentence'])} |")
    return lines


def cell(text):
    return text.replace("|", "\\|")


def all_rows(results):
    """Every row once: a later part's copy of a ceiling does not hide the first."""
    seen, rows = set(), []
    for part in results["rows"].values():
        for row in part:
            if row["name"] not in seen:
                seen.add(row["name"])
                rows.append(row)
    return rows


def counts(results):
    """How many items (programs, shares of the table, runs of a tool) passed, failed, were skipped or cut short."""
    count = {PASSED: 0, FAILED: 0, SKIPPED: 0, PARTIAL: 0}
    for part in results["parts"].values():
        for item in part.get("items", []) or [part]:
            count[item["status"]] += 1
    return count


def failures(results):
    lines = []
    for name, part in results["parts"].items():
        bad = [item for item in part.get("items", []) if item["status"] == FAILED]
        if part["status"] == FAILED and not bad:
            lines += [f"### {name}", "", part["sentence"], ""]
        for item in bad:
            lines += [f"### {name}: {item['name']}", "", item["sentence"], "", "```", *item.get("tail", []), "```", ""]
    return ["## Failures", "", *lines] if lines else []


def targets_table(results):
    if results["rehearsal"]:
        return ["## Targets", "", "Emulation is not graded.", ""]
    rows = all_rows(results)
    lines = ["## Targets", "", "| family | row | against | pass | goal | stretch | measured | |", "|---|---|---|---:|---:|---:|---:|---|"]
    for target in speed.targets():
        value, word = speed.grade(target, rows)
        shown = "-" if value is None else f"{value:.3f}"
        lines.append(f"| {target['family']} | {target['row']} | {target['against']} | {target['pass']} | {target['goal']} | {target['stretch']} | "
                     f"{shown} | {word} |")
    return [*lines, ""]


def rows_table(results):
    lines = ["## Rows", "", "| row | µs | GB/s | TFLOP/s | of copy | noise | error |", "|---|---:|---:|---:|---:|---:|---:|"]
    for row in all_rows(results):
        if row["status"] != "ok":
            lines.append(f"| {row['name']} | {row['status']} | | | | | {row['error']} |")
            continue
        middle = float(row["p50_s"])
        lines.append(f"| {row['name']} | {middle * 1e6:.1f} | {float(row['bytes_per_s']) / 1e9:.1f} | {float(row['flops_per_s']) / 1e12:.2f} | "
                     f"{row['frac_copy'] or '-'} | {100 * (float(row['p75_s']) - float(row['p25_s'])) / middle:.1f} % | {row['error']} |")
    return [*lines, ""]


def copy_rate(results):
    rows = [row for row in results["rows"].get("ceilings", []) if row["name"].startswith("ceiling_copy/") and row["status"] == "ok"]
    return float(rows[0]["bytes_per_s"]) / 1e12 if rows else None


def published_row(results):
    """The run as one line of docs/hardware.md's table."""
    count, copy, toolkit = counts(results), copy_rate(results), results["tools"].get("nvcc", "")
    release = re.search(r"release ([0-9.]+)", toolkit)
    grades = [speed.grade(target, all_rows(results))[1] for target in speed.targets()]
    met = sum(word in ("pass", "goal", "stretch") for word in grades)
    return (f"| {results['date'][:10]} | {results['gpu'].get('name', '?')} | {results['gpu'].get('driver', '?')} | {release[1] if release else '-'} | "
            f"{results['commit'][:10]} | {count[PASSED]} | {count[FAILED]} | {count[SKIPPED]} | {f'{copy:.2f} TB/s' if copy else '-'} | "
            f"{met} met, {grades.count('MISSED')} missed |")


def markdown(results):
    head = ["# GPU check", ""]
    if results["rehearsal"]:
        head += ["**NOT HARDWARE.** A rehearsal on the virtual GPU at tiny sizes: it shows that the script runs. No time here is a measurement.", ""]
    if results["no_gpu"]:
        head += [f"**No GPU.** {results['no_gpu']}. Every part that needs one was SKIPPED; nothing is proven.", ""]
    head += [f"{results['date']}, commit {results['commit'][:12] or 'unknown'}{' (dirty)' if results['dirty'] else ''}, {results['programs']}, "
             f"device {results['device']}", "", *parts_table(results), ""]
    body = failures(results)
    noise = speed.noise(results["rows"].get("ceilings", []))
    if noise is not None and not results["rehearsal"]:
        verdict = "" if noise <= speed.NOISE else f": **NOISY** (at most {speed.NOISE:.0%}): compare nothing with this run"
        body += ["## Noise", "", f"The copy against itself differs by {noise:.2%}{verdict}.", ""]
    if results["rows"]:
        body += targets_table(results) + rows_table(results)
    facts = {**{f"GPU {key}": value for key, value in results["gpu"].items()}, **results["tools"]}
    body += ["## Machine", "", *[f"- {key}: {value}" for key, value in facts.items()], ""]
    if not results["rehearsal"] and not results["no_gpu"]:
        body += ["## For docs/hardware.md", "", published_row(results), ""]
    return "\n".join(head + body)


def bench_csv(results):
    rows = all_rows(results)
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n", extrasaction="ignore") if rows else None
    if writer:
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def printable(text):
    """Without what XML forbids: programs print colours."""
    return re.sub(r"[^\t\n -\ud7ff\ue000-\ufffd]", "?", text)


def attribute(text):
    return quoteattr(printable(text))


def junit(results):
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for name, part in results["parts"].items():
        lines.append(f"<testsuite name={quoteattr(name)}>")
        for item in part.get("items", []) or [{"name": name, **part}]:
            lines.append(f"<testcase name={attribute(item['name'])} time=\"{item['seconds']}\">")
            if item["status"] == FAILED:
                lines.append(f"<failure message={attribute(item['sentence'])}>{escape(printable(chr(10).join(item.get('tail', []))))}</failure>")
            elif item["status"] != PASSED:
                lines.append(f"<skipped message={attribute(item['status'] + ': ' + item['sentence'])}/>")
            lines.append("</testcase>")
        lines.append("</testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def write(results, out):
    for name, text in (("report.md", markdown(results)), ("bench.csv", bench_csv(results)), ("junit.xml", junit(results))):
        (out / name).write_text(text, encoding="utf-8", errors="replace")


def verdict(results):
    """The end of the standard output: at most 60 lines."""
    lines = ["", "NOT HARDWARE (rehearsal)"] if results["rehearsal"] else ["", "NO GPU: nothing is proven"] if results["no_gpu"] else [""]
    for part in plan.PARTS:
        found = results["parts"].get(part.name)
        if found:
            again = " (done before)" if found.get("reused") else ""
            lines.append(f"{part.name:<11} {found['status'] + again:<22} {found['seconds']:6.1f} s  {found['sentence'][:110]}")
    bad = [f"FAILED {name}: {item['name']}: {item['sentence'][:140]}" for name, part in results["parts"].items()
           for item in part.get("items", []) if item["status"] == FAILED]
    grades = [(target, *speed.grade(target, all_rows(results))) for target in speed.targets()] if results["rows"] and not results["rehearsal"] else []
    missed = [f"MISSED {target['family']}: {value:.3f}, {target['pass']} is due" for target, value, word in grades if word == "MISSED"]
    return "\n".join([*lines, *(bad + missed)[:44]])
