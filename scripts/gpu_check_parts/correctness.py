"""The parts that ask whether the numbers are right: build, tests, train, sanitize."""
import os
import re

from . import place as places
from .commands import Job, ended, run_one
from .plan import FAILED, PARTIAL, PASSED, ROOT, SKIPPED, Stop
from .probe import find_tool, start_program
from .record import by_code, together

# What only the tree can answer: this test reads the build files.
NOT_IN_A_PACK = '~"the build files keep products and sums apart"'
TABLE = "[#op_table_test]~[finite_differences]"


def build(record):
    """Builds the tree here: the last resort, since nothing can be installed on such a machine."""
    nvcc, cmake = find_tool("nvcc"), find_tool("cmake")
    if not nvcc or not cmake:
        raise Stop(FAILED, f"there is no pack, and no {'nvcc' if not nvcc else 'cmake'} to build with: make a pack elsewhere (--pack)")
    folder = ROOT / "build" / "gpu_check" / "build"
    architecture = record.gpu.get("compute_cap", "9.0").replace(".", "") + "-real"
    generator = ["-G", "Ninja"] if find_tool("ninja") else []
    steps = [Job("configure", [cmake, *generator, "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DTANTU_CUDA=ON",
                               f"-DCMAKE_CUDA_ARCHITECTURES={architecture}"], {"CUDACXX": nvcc}),
             Job("compile", [cmake, "--build", folder, "-j", os.cpu_count(), "--target", *places.PROGRAMS])]
    found = []
    for step in steps:
        items, complete = record.items("build", [step])
        found += items
        if not complete or items[0]["status"] != PASSED:
            return found, items[0]["status"] if items else PARTIAL
    record.place = places.Build(folder)
    start_program(record)
    return found, PASSED


def tests(record):
    program, rehearse = record.place.program, record.options.rehearse
    if rehearse:
        jobs = [Job("gpu", [program("test_gpu"), "-#", "[#copy_test]"]),
                Job("op table: add", [program("test_ops"), "-#", TABLE], {**table_env("vgpu:0"), "TANTU_TEST_ROW": "add"})]
    else:
        shares = min(2 * (os.cpu_count() or 1), 32)
        jobs = gpu_jobs(record) + [Job(name, [program(f"test_{name}"), *([NOT_IN_A_PACK] if name == "golden" else [])])
                                   for name in ("core", "kernels", "autograd", "golden")]
        for devices in ("cuda:0,cpu", "vgpu:0"):  # silicon first: time may run out
            jobs += [Job(f"op table on {devices}, share {share} of {shares}", [program("test_ops"), "-#", TABLE],
                         {**table_env(devices), "TANTU_TEST_SHARE": f"{share}/{shares}"}) for share in range(shares)]
    items, complete = record.items("tests", jobs, width=1 if rehearse else os.cpu_count() or 1)
    return items, together(items, complete)


def gpu_jobs(record):
    """The GPU tests, a process a source file: an error that a device does not recover from ends one of them only."""
    program = record.place.program("test_gpu")
    files = re.findall(r"\[#(\w+)\]", run_one([program, "-#", "--list-tags"], record.limit(10), record.environment()).output)
    if not files:
        return [Job("gpu", [program])]
    return [Job(f"gpu: {name}", [program, "-#", f"[#{name}]"], {"TANTU_VGPU_DEVICES": 2 if name == "stream_test" else 1}) for name in files]


def table_env(devices):
    """Fresh memory a result on the virtual GPU, full of NaN: what a kernel forgets to write is seen."""
    memory = {"TANTU_ALLOC_CONF": "caching:off"} if devices.startswith("vgpu") else {}
    return {"TANTU_TEST_DEVICES": devices, "TANTU_TEST_SEEDS": 1, "TANTU_NUM_THREADS": 1, **memory}


def train(record):
    program, rehearse, device = record.place.program, record.options.rehearse, record.device()
    images, lowest = (512, 15.0) if rehearse else (10000, 60.0)
    expected = record.place.expected().read_text(encoding="utf-8")
    words = ["--epochs", 1, "--limit", images, "--quiet"]
    jobs = [Job(f"tutorial on {device}", [program("tutorial"), "--device", device]),
            Job(f"Fashion-MNIST, {images} images, on {device}", [program("fashion_mnist"), "--device", device, *words])]
    if not rehearse:
        jobs.append(Job(f"Fashion-MNIST, {images} images, on cpu", [program("fashion_mnist"), "--device", "cpu", *words]))

    def judge(outcome):
        status, sentence = by_code(outcome)
        if status != PASSED:
            return status, sentence
        if outcome.name.startswith("tutorial"):
            return (PASSED, "the losses of the CPU") if outcome.output == expected else (FAILED, "printed other numbers than the CPU")
        accuracy = re.search(r"test accuracy: ([0-9.]+) %", outcome.output)
        if not accuracy or not float(accuracy[1]) >= lowest:
            return FAILED, f"test accuracy {accuracy[1] if accuracy else 'missing'} %, at least {lowest} % is due"
        return PASSED, f"test accuracy {accuracy[1]} % in {outcome.seconds:.1f} s"

    items, complete = record.items("train", jobs, judge=judge)
    return items, together(items, complete)


# (tool, tests): memcheck wants the most paths; the others what shares memory, and what may read what nobody wrote.
SANITIZERS = [("memcheck", "[#copy_test],[#index_test],[#reduce_test],[#lines_test]"), ("racecheck", "[#reduce_test],[#lines_test]"),
              ("memcheck", "[#matmul_test],[#norm_test],[#optim_test]"), ("synccheck", "[#reduce_test],[#matmul_test]"),
              ("initcheck", "[#reduce_test],[#optim_test]"), ("racecheck", "[#matmul_test]")]


def sanitize(record):
    path = find_tool("compute-sanitizer")
    if record.options.rehearse:
        raise Stop(SKIPPED, "compute-sanitizer looks at silicon only")
    if not path:
        raise Stop(SKIPPED, "compute-sanitizer is not on this machine")
    trial = run_one([path, "--tool", "memcheck", record.place.program("test_gpu"), "-#", "[#device_test]"], record.limit(20), silicon_only(record))
    if refused(trial.output):
        raise Stop(SKIPPED, f"compute-sanitizer: {refused(trial.output)}")
    jobs = [Job(f"{tool} {tags}", [path, "--tool", tool, "--error-exitcode", 9, record.place.program("test_gpu"), "-#", tags], silicon_only(record),
                limit=20) for tool, tags in SANITIZERS]

    def judge(outcome):
        if refused(outcome.output):
            return SKIPPED, refused(outcome.output)
        summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY:.*", outcome.output)
        if not summary:
            return FAILED, f"no summary; {ended(outcome.code)}"
        clean = outcome.code == 0 and re.search(r"SUMMARY: 0 (errors|hazards)", summary[-1])
        return (PASSED if clean else FAILED), summary[-1]

    items, complete = record.items("sanitize", jobs, judge=judge)
    return items, together(items, complete)


def silicon_only(record):
    """For the sanitizer: no virtual GPU, and no cached memory, so that every block ends where its tensor does."""
    return {**record.environment(), "TANTU_VGPU_DEVICES": 0, "TANTU_ALLOC_CONF": "caching:off"}


def refused(output):
    """The tool's own sentence where it does not work on this machine; "" where it does."""
    found = re.search(r".*(Device not supported|not supported on this|ERR_NVGPUCTRPERM|LibraryNotLoaded).*", output)
    return found[0].strip("= ") if found else ""
