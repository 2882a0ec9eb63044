"""What a run knows and has found: kept in results.json after every step, so that a later run need not repeat it."""
import hashlib
import json
import os
import pathlib
import time

from . import commands, plan
from .plan import FAILED, PARTIAL, PASSED, SKIPPED

TAIL = 40  # lines of a failed command's output that the report keeps


class Record:
    def __init__(self, options, place):
        self.options, self.place = options, place
        self.started, self.until = time.monotonic(), 0.0
        self.gpu, self.tools, self.no_gpu = {}, {}, ""
        self.parts, self.rows = {}, {}
        self.out = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.work = self.out / "work"
        self.work.mkdir(exist_ok=True)
        self.log = open(self.out / "log.txt", "a", encoding="utf-8")
        self.before = read(self.out / "results.json")

    # ---- identity

    def device(self):
        return "vgpu:0" if self.options.rehearse else "cuda:0"

    def hash(self):
        """Of all that a result depends on: programs, GPU, driver, this script, and whether it is a rehearsal."""
        scripts = sorted(pathlib.Path(__file__).parent.glob("*.py"))
        words = [self.place.fingerprint() if self.place else "", self.gpu.get("uuid", ""), self.gpu.get("driver", ""),
                 str(self.options.rehearse), str(plan.VERSION), *[path.read_text(encoding="utf-8") for path in scripts]]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()

    def reusable(self, part):
        """The result that an earlier run left for a part, if it still holds."""
        old = self.before.get("parts", {}).get(part)
        if not old or part in self.options.redo or old.get("hash") != self.hash():
            return None
        return old

    # ---- steps

    def say(self, text):
        print(text, flush=True)
        self.note(text)

    def note(self, text):
        self.log.write(text + "\n")
        self.log.flush()

    def time_left(self):
        return self.options.deadline - plan.RESERVE - (time.monotonic() - self.started)

    def limit(self, seconds):
        """At most so long, and not past the end of the part."""
        return max(0.0, min(seconds, self.until - time.monotonic()))

    def environment(self):
        words = self.place.environment() if self.place else {}
        return {**words, "TANTU_VGPU_DEVICES": 1, "TANTU_QUIET": 1}

    def items(self, part, jobs, width=1, judge=None):
        """Runs the jobs that no earlier run of the same programs has passed. `judge(outcome)` gives (status, sentence);
        by itself exit code 0 passes, 77 skips. Returns the items and whether all jobs were reached."""
        old = {item["name"]: item for item in (self.reusable(part) or {}).get("items", []) if item["status"] == PASSED}
        found = [dict(old[job.name], reused=True) for job in jobs if job.name in old]
        environment = self.environment()
        for job in jobs:
            job.env = {**environment, **job.env}

        def done(outcome):
            status, sentence = (judge or by_code)(outcome) if not outcome.stopped else (PARTIAL, "stopped at its limit")
            item = {"name": outcome.name, "status": status, "seconds": round(outcome.seconds, 2), "sentence": sentence}
            if status == FAILED:
                item["tail"] = outcome.output.splitlines()[-TAIL:]
            found.append(item)
            self.note(f"---- {part}: {outcome.name}: {status} {sentence}\n{outcome.output}")
            self.parts[part] = {"status": PARTIAL, "items": found, "hash": self.hash(), "seconds": 0, "sentence": ""}
            self.write()

        commands.run_all([job for job in jobs if job.name not in old], self.until, width, done)
        return found, len(found) == len(jobs)

    def write(self):
        """results.json, whole or not at all."""
        place = self.place
        text = json.dumps({
            "version": plan.VERSION, "rehearsal": self.options.rehearse, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "commit": place.commit if place else "", "dirty": place.dirty if place else True,
            "programs": place.text if place else "none", "device": self.device(), "gpu": self.gpu, "tools": self.tools,
            "no_gpu": self.no_gpu, "parts": self.parts, "rows": self.rows}, indent=1)
        temporary = self.work / "results.json"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self.out / "results.json")


def read(path):
    """An earlier results.json; {} if there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) and found.get("version") == plan.VERSION else {}
    except (OSError, ValueError):
        return {}


def by_code(outcome):
    if outcome.code == 0:
        return PASSED, outcome.last_line()
    if outcome.code == 77:
        return SKIPPED, outcome.last_line() or "exit code 77"
    return FAILED, f"{commands.ended(outcome.code)}: {outcome.last_line()}"


def together(items, complete):
    """The status of a part from those of its items."""
    statuses = {item["status"] for item in items}
    if FAILED in statuses:
        return FAILED
    if not complete or PARTIAL in statuses:
        return PARTIAL
    return SKIPPED if statuses == {SKIPPED} else PASSED
