"""What machine this is. Asks and never sets: the queries below are all that nvidia-smi is ever called with."""
import os
import platform
import shutil

from . import commands
from .plan import FAILED, SKIPPED, Stop

FIELDS = ["name", "uuid", "driver_version", "compute_cap", "memory.total", "memory.free", "clocks.sm", "clocks.max.sm", "temperature.gpu",
          "power.draw", "mig.mode.current", "ecc.mode.current"]
QUERY = [f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
VERSIONS = {"nvcc": ["--version"], "compute-sanitizer": ["--version"], "ncu": ["--version"], "cuobjdump": ["--version"], "cmake": ["--version"],
            "ninja": ["--version"], "python3": ["--version"]}


def find_tool(name):
    """A tool on the path or in the toolkit's folder (CUDA_HOME)."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(name) or shutil.which(name, path=f"{toolkit}/bin:{toolkit}/compute-sanitizer:/usr/local/nvidia/bin")


def ask_tools(record):
    for name, words in VERSIONS.items():
        path = find_tool(name)
        if not path:
            continue
        outcome = commands.run_one([path, *words], 5)
        lines = [line.strip() for line in outcome.output.splitlines() if any(c.isdigit() for c in line)]
        telling = [line for line in lines if "release" in line or "version" in line.lower()] or lines
        record.tools[name] = telling[0] if outcome.code == 0 and telling else "there, but " + commands.ended(outcome.code)


def ask_gpu(record):
    """Fills record.gpu; Stop(SKIPPED) with the reason where there is no GPU."""
    path = find_tool("nvidia-smi")
    if not path:
        raise Stop(SKIPPED, "no GPU: nvidia-smi is not on this machine")
    outcome = commands.run_one([path, *QUERY], 10)
    lines = [line for line in outcome.output.splitlines() if line.count(",") == len(FIELDS) - 1]
    if outcome.code != 0 or not lines:
        raise Stop(SKIPPED, f"no GPU: nvidia-smi: {outcome.last_line() or commands.ended(outcome.code)}")
    values = [value.strip() for value in lines[0].split(",")]
    for field, value in zip(FIELDS, values):
        if value and not value.startswith("["):  # "[N/A]": an absent value is an absent key
            record.gpu[field.replace("driver_version", "driver")] = value
    record.gpu["count"] = str(len(lines))


def start_program(record):
    """Our own program adds two tensors on the GPU, or says why not. What the driver lists and we can't use is a failure."""
    words = ["--device", record.device(), "--verify", "--filter", "^add/"]
    outcome = commands.run_one([record.place.program("tantu-bench"), *words], 30, record.environment())
    if outcome.code == 77 and record.options.rehearse:
        raise Stop(SKIPPED, outcome.last_line())
    if outcome.code != 0:
        raise Stop(FAILED, f"tantu-bench {' '.join(words)}: {commands.ended(outcome.code)}: {outcome.last_line()}")


def probe(record):
    ask_tools(record)
    record.tools["processor"] = f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    if record.options.rehearse:
        record.gpu = {"name": "virtual GPU (vgpu:0)", "uuid": "virtual", "driver": "none"}
    else:
        ask_gpu(record)
    if record.place:
        start_program(record)
    return f"{record.gpu['name']}, driver {record.gpu.get('driver', '?')}"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
