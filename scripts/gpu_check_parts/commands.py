"""Commands under a limit: each in a process group of its own, of which alone it is the end when time is up."""
import dataclasses
import os
import signal
import subprocess
import tempfile
import time

GRACE = 5  # seconds between TERM and KILL


@dataclasses.dataclass
class Job:
    name: str
    argv: list
    env: dict = dataclasses.field(default_factory=dict)  # over the environment of this process
    limit: float = 1e9                                   # seconds


@dataclasses.dataclass
class Outcome:
    name: str
    code: int          # -1: it could not be started
    seconds: float
    stopped: bool      # it ran past its limit
    output: str

    def last_line(self):
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


class Running:
    def __init__(self, job, until):
        self.job, self.start = job, time.monotonic()
        self.until, self.stopped, self.killed = min(until, self.start + job.limit), False, False
        self.file = tempfile.TemporaryFile()
        env = {**os.environ, **{key: str(value) for key, value in job.env.items()}}
        self.process = subprocess.Popen([str(word) for word in job.argv], stdin=subprocess.DEVNULL, stdout=self.file,
                                        stderr=subprocess.STDOUT, env=env, preexec_fn=os.setpgrp)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def poll(self, now):
        """The outcome once it has ended, else None."""
        if self.process.poll() is None:
            if now >= self.until and not self.stopped:
                self.stopped = True
                self.signal(signal.SIGTERM)
            elif self.stopped and now >= self.until + GRACE and not self.killed:
                self.killed = True
                self.signal(signal.SIGKILL)
            return None
        if self.stopped:
            self.signal(signal.SIGKILL)  # what the process left behind in its group
        self.file.seek(0)
        text = self.file.read().decode(errors="replace")
        self.file.close()
        return Outcome(self.job.name, self.process.returncode, now - self.start, self.stopped, text)


def run_all(jobs, until, width=1, done=lambda outcome: None):
    """Runs the jobs, `width` at a time, none past `until` (of time.monotonic); tells `done` of each as it ends. Jobs
    that were never begun are not told."""
    waiting, running = list(jobs), []
    try:
        while waiting or running:
            while waiting and len(running) < width and time.monotonic() < until:
                job = waiting.pop(0)
                try:
                    running.append(Running(job, until))
                except OSError as error:
                    done(Outcome(job.name, -1, 0, False, str(error)))
            if not running:
                return
            time.sleep(0.02)
            now = time.monotonic()
            for one in list(running):
                outcome = one.poll(now)
                if outcome:
                    running.remove(one)
                    done(outcome)
    finally:  # interrupted: nothing that was started here stays
        for one in running:
            one.signal(signal.SIGKILL)
            one.process.wait()


def run_one(argv, limit, env=None):
    """One command, and its outcome."""
    found = []
    run_all([Job(str(argv[0]), argv, env or {}, limit)], time.monotonic() + limit, done=found.append)
    return found[0] if found else Outcome(str(argv[0]), -1, 0, True, "no time was left")


def ended(code):
    """How a process ended, in words."""
    if code == -1:
        return "could not be started"
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"
