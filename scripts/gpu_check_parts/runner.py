"""One run: part after part under its budget, and the report at the end, whatever happens."""
import shutil
import signal
import time
import traceback

from . import correctness, plan, probe, report, speed
from . import place as places
from .plan import FAILED, PARTIAL, PASSED, SKIPPED, Stop
from .record import Record, read

DOES = {"build": correctness.build, "tests": correctness.tests, "ceilings": speed.ceilings, "bench_mem": speed.bench_mem,
        "bench_gemm": speed.bench_gemm, "train": correctness.train, "sanitize": correctness.sanitize}


class Interrupted(BaseException):
    """TERM or INT came."""


def interrupt(number, frame):
    raise Interrupted(signal.Signals(number).name)


def run(options):
    place = places.find(options)
    parts = [part for part in plan.chosen(options.parts) if part.name != "build" or not place]
    if options.dry_run:
        return show_plan(options, place, parts)
    record = Record(options, place)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    record.say(f"{'NOT HARDWARE (rehearsal): ' if options.rehearse else ''}{place.text if place else 'nothing is built yet'}; to {record.out}")
    interrupted = False
    try:
        for part in parts:
            if part.name != "report":
                take(record, part)
            if part.name == "probe":
                keep_others(record, parts)
    except Interrupted as signal_name:
        interrupted = True
        record.say(f"interrupted by {signal_name}; the report holds what is known")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # the report is written whole
        results = finish(record)
    return exit_code(record, results, interrupted)


def show_plan(options, place, parts):
    """--dry-run: nothing is started and nothing is written."""
    print(f"programs: {place.text if place else 'none yet: the tree is built here'}; results: {options.out}; deadline {options.deadline:.0f} s")
    for part in parts:
        print(f"{part.name:<11} at most {min(part.budget, options.deadline):4.0f} s  {'GPU' if part.needs_gpu else '   '}  {part.does}")
    return 0


def keep_others(record, parts):
    """What earlier runs of the same programs found in the parts that are not asked for now."""
    for part in plan.PARTS:
        if part not in parts and record.reusable(part.name):
            keep(record, part.name)


def keep(record, name):
    record.parts[name] = {**record.reusable(name), "reused": True}
    if name in record.before.get("rows", {}):
        record.rows[name] = record.before["rows"][name]


def take(record, part):
    """Runs one part, or takes over what an earlier run found; files its status."""
    old = record.reusable(part.name)
    if part.name != "probe" and old and old["status"] == PASSED:
        keep(record, part.name)
        record.say(f"{part.name:<11} done before")
        return
    start = time.monotonic()
    items = []
    try:
        if part.needs_gpu:
            must_have_gpu(record, part)
        budget = min(part.budget, record.time_left())
        if budget < 1:
            raise Stop(PARTIAL, "no time was left")
        record.until = start + budget
        if part.name == "probe":
            status, sentence = PASSED, probe.probe(record)
        else:
            items, status = DOES[part.name](record)
            sentence = told(items, status)
    except Stop as stop:
        status, sentence = stop.status, stop.sentence
    except Exception as error:  # a fault of this script must not cost the report
        record.note(traceback.format_exc())
        status, sentence = FAILED, f"{type(error).__name__}: {error}"
    if part.name == "probe" and status == SKIPPED:
        record.no_gpu = sentence
    record.parts[part.name] = {"status": status, "sentence": sentence, "seconds": round(time.monotonic() - start, 2), "items": items,
                               "hash": record.hash()}
    record.say(f"{part.name:<11} {status:<8} {time.monotonic() - start:6.1f} s  {sentence}")
    record.write()
    report.write(results_of(record), record.out)  # even a KILL later on leaves it


def must_have_gpu(record, part):
    if record.no_gpu:
        raise Stop(SKIPPED, record.no_gpu)
    if record.parts.get("probe", {}).get("status") == FAILED:
        raise Stop(SKIPPED, "the probe failed")
    if not record.place and part.name != "build":
        raise Stop(SKIPPED, "there is nothing to run: it was not built")


def told(items, status):
    words = [item["sentence"] for item in items if item["status"] == status and status in (FAILED, SKIPPED)]
    passed = sum(item["status"] == PASSED for item in items)
    return f"{passed} of {len(items)} passed" + (f"; {words[0][:120]}" if words else "")


def finish(record):
    start = time.monotonic()
    record.parts["report"] = {"status": PASSED, "sentence": "", "seconds": 0.0, "items": [], "hash": record.hash()}
    record.write()
    results = results_of(record)
    try:
        report.write(results, record.out)
    except Exception as error:
        record.note(traceback.format_exc())
        results["parts"]["report"].update(status=FAILED, sentence=f"{type(error).__name__}: {error}")
        (record.out / "report.md").write_text("# GPU check\n\nThe report could not be written; results.json and log.txt hold what was found.\n")
    results["parts"]["report"]["seconds"] = round(time.monotonic() - start, 2)
    record.write()
    record.say(report.verdict(results))
    shutil.rmtree(record.work, ignore_errors=True)
    return results


def results_of(record):
    """What results.json holds, by reading it back: the report tells only what is on disk."""
    return {**read(record.out / "results.json"), "parts": record.parts}


def exit_code(record, results, interrupted):
    statuses = [part["status"] for part in results["parts"].values()]
    if PARTIAL in statuses or interrupted:
        record.say(f"resume with: scripts/gpu_check {'--rehearse ' if record.options.rehearse else ''}--out {record.out}")
    if FAILED in statuses or interrupted:
        return 1
    return 77 if record.no_gpu else 0
