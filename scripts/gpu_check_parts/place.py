"""Where the programs, libraries and data are: a pack, or a build folder of the tree."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from .plan import ROOT, Usage

TESTS = ["core", "kernels", "autograd", "golden", "gpu", "ops"]
PROGRAMS = {**{f"test_{name}": f"tests/test_{name}" for name in TESTS}, "tantu-bench": "bench/tantu-bench",
            "tutorial": "examples/tutorial", "fashion_mnist": "examples/fashion_mnist"}
MANIFEST = "MANIFEST.json"


def git(*words):
    """What git says of the tree; "" where there is none."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def tree_is_dirty():
    return bool(git("status", "--porcelain"))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cuda_folders():
    """Folders of this machine that hold cuBLAS: the toolkit's, or those of Python packages."""
    found = []
    places = [pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64", *sorted(pathlib.Path("/usr/local").glob("cuda-*/lib64"))]
    for base in [pathlib.Path(entry) for entry in sys.path if entry] + python_folders():
        places += sorted(base.glob("nvidia/*/lib"))
    for place in places:
        if place not in found and any(place.glob("libcublas.so*")):
            found.append(place)
    return found


def python_folders():
    """The package folders of the python3 that is first on the path, which may not be the one that runs this."""
    try:
        text = subprocess.run(["python3", "-c", "import site; print('\\n'.join(site.getsitepackages()))"], capture_output=True,
                              text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [pathlib.Path(line) for line in text.splitlines() if line]


class Place:
    """Programs by name, and the environment that they need."""

    def program(self, name):
        raise NotImplementedError

    def missing(self):
        return [name for name in PROGRAMS if not self.program(name).exists()]

    def fingerprint(self):
        """Of all that is run: two runs with the same one need not repeat each other."""
        if not hasattr(self, "known"):
            text = "".join(sha256(path) for path in self.files())
            self.known = hashlib.sha256(text.encode()).hexdigest()
        return self.known


class Pack(Place):
    def __init__(self, folder):
        self.folder = folder
        try:
            self.manifest = json.loads((folder / MANIFEST).read_text())
            self.commit, self.dirty = self.manifest["commit"], self.manifest["dirty"]
            listed = self.manifest["files"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Usage(f"{folder} is no pack: {error}") from None
        for name, want in listed.items():
            path = folder / name
            if not path.is_file() or sha256(path) != want:
                raise Usage(f"the pack is damaged: {path} is missing or changed; make it anew with --pack")
        self.text = f"pack of {self.manifest['date']}, {self.manifest['flags']}"

    def program(self, name):
        return self.folder / "bin" / name

    def files(self):
        return [self.folder / MANIFEST]

    def environment(self):
        return {"LD_LIBRARY_PATH": path_list([self.folder / "lib", *cuda_folders()]),
                "TANTU_GOLDEN_DIR": self.folder / "golden", "TANTU_DATA_DIR": self.folder / "data"}

    def expected(self):
        return self.folder / "data" / "tutorial.expected"


class Build(Place):
    def __init__(self, folder):
        self.folder = folder.resolve()
        self.commit, self.dirty = git("rev-parse", "HEAD"), tree_is_dirty()
        self.text = "build folder of the tree"

    def program(self, name):
        return self.folder / PROGRAMS[name]

    def files(self):
        libraries = sorted(path for path in self.folder.rglob("libtantu*.so") if path.exists())
        return [self.program(name) for name in PROGRAMS if self.program(name).exists()] + libraries

    def environment(self):
        cuda = [folder for folder in cuda_folders() if "site-packages" in str(folder)]
        return {"LD_LIBRARY_PATH": path_list(cuda)} if cuda else {}

    def expected(self):
        return ROOT / "examples" / "tutorial.expected"


def path_list(folders):
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return ":".join([str(folder) for folder in folders] + ([before] if before else []))


def find(options):
    """The place that the options name; None: it must be built first."""
    if options.build_dir:
        if not options.build_dir.is_dir():
            raise Usage(f"--build-dir {options.build_dir}: there is no such folder")
        place = Build(options.build_dir)
        if place.missing():
            raise Usage(f"--build-dir {options.build_dir} lacks {', '.join(place.missing())}: build the tree first")
        return place
    if (ROOT / MANIFEST).exists():  # this script is itself part of a pack
        return Pack(ROOT)
    if options.pack_dir.exists():
        return Pack(options.pack_dir)
    return None
