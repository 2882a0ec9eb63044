"""What is run, in which order, and how long each part may take."""
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent  # of the tree, or of a pack: both hold scripts/
VERSION = 1

DEADLINE = 350  # seconds of a whole run
RESERVE = 10    # of them kept for the report


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    budget: int        # seconds
    needs_gpu: bool
    does: str
    mandatory: bool = False  # must be complete before a row is published


# Correctness comes first. Speed follows, the slowest and least needed last.
PARTS = [
    Part("probe", 15, False, "asks for GPU, driver and tools; starts our program on the GPU", True),
    Part("build", 300, True, "builds here, where neither a pack nor a build folder is given"),
    Part("tests", 130, True, "test programs, and every row of the op table, on cpu, vgpu and cuda", True),
    Part("ceilings", 20, True, "the driver's copies, and the copy against itself", True),
    Part("bench_mem", 60, True, "rows bound by memory, at streaming sizes", True),
    Part("bench_gemm", 40, True, "matrix products by library and dtype", True),
    Part("train", 30, True, "the tutorial and one epoch of Fashion-MNIST"),
    Part("sanitize", 50, True, "compute-sanitizer over the GPU tests"),
    Part("report", 5, False, "grades against bench/targets.csv and writes (always)"),
]
BY_NAME = {part.name: part for part in PARTS}

# Statuses. Nothing but "passed" counts as passed.
PASSED, FAILED, PARTIAL, SKIPPED = "passed", "FAILED", "PARTIAL", "SKIPPED"


class Usage(Exception):
    """The command line asks for what cannot be: exit 2."""


class Stop(Exception):
    """A part ends early: with a status and a sentence."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def chosen(text):
    """The parts that a list names; probe and report always belong to it."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in BY_NAME:
            raise Usage(f"there is no part \"{name}\"; choose from {', '.join(BY_NAME)}")
    return [part for part in PARTS if part.name in names or part.name in ("probe", "report")]
