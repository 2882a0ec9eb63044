"""--pack: one folder with all that a run needs, for a machine on which nothing can be installed."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from . import place as places
from .plan import ROOT, Usage
from .probe import find_tool

LIMIT = 58 << 20  # bytes; the tree travels beside it
# Another processor will run it: all that AVX2 machines have, and nothing of this one's own.
PROCESSOR = "-march=x86-64-v3"
TRAIN, TEST = 10000, 2000  # images of Fashion-MNIST that travel
# Every system has these, of its own make; cuBLAS is larger than any pack and comes with whoever has a GPU to run on.
LEFT_OUT = re.compile(r"^(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libcublas|libcublasLt|libcuda)\.so")


def pack(options):
    build = options.build_dir or compile_for_pack(options)
    folder = options.pack_dir
    if folder.exists() and not (folder / places.MANIFEST).exists():
        raise Usage(f"{folder} is there and is no pack: remove it, or name another with --pack-dir")
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("bin", "lib", "data", "golden"):
        (folder / part).mkdir(parents=True)
    copy_programs(build, folder)
    copy_data(folder)
    copy_scripts(folder)
    write_manifest(options, build, folder)
    return weigh(folder)


def compile_for_pack(options):
    """Builds in a folder of its own; nothing is built twice."""
    nvcc = find_tool("nvcc")
    if not nvcc:
        raise Usage("--pack: nvcc is not on this machine; --build-dir packs a folder that is built already")
    build = ROOT / "build-pack"
    configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DTANTU_NATIVE=OFF", f"-DCMAKE_CXX_FLAGS={PROCESSOR}",
                 "-DTANTU_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={options.arch}-real", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
    for argv in (configure, ["cmake", "--build", build, "-j", os.cpu_count(), "--target", *places.PROGRAMS]):
        print("+", *argv, flush=True)
        if subprocess.run([str(word) for word in argv]).returncode != 0:
            raise Usage(f"--pack: the build failed; {build} holds what is done")
    return build


def copy_programs(build, folder):
    libraries = {}
    for name, path in places.PROGRAMS.items():
        if not (build / path).exists():
            raise Usage(f"--pack: {build} lacks {path}: build the tree first")
        strip(build / path, folder / "bin" / name)
        libraries.update(needed(build / path))
    for soname, path in libraries.items():
        strip(path, folder / "lib" / soname)


def needed(program):
    """{soname: file} of the libraries to take along."""
    found = {}
    for line in subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if match and not LEFT_OUT.match(match[1]):
            if match[2] == "not":
                raise Usage(f"--pack: {program} needs {match[1]}, which is not found here")
            found[match[1]] = pathlib.Path(match[2]).resolve()
    return found


def strip(source, target):
    shutil.copy2(source, target)
    subprocess.run(["strip", str(target)], check=False, capture_output=True)


def copy_data(folder):
    for path in sorted((ROOT / "tests" / "golden").iterdir()):
        if path.is_file() and path.suffix != ".cpp" and path.suffix != ".h":
            shutil.copy2(path, folder / "golden")
    shutil.copy2(ROOT / "examples" / "tutorial.expected", folder / "data")
    source = next((place for place in data_places() if (place / "train-images-idx3-ubyte.gz").exists()), None)
    if not source:
        raise Usage("--pack: Fashion-MNIST is not on this machine: apt install dataset-fashion-mnist, or name its folder in TANTU_DATA_DIR")
    for kind, count in (("train", TRAIN), ("t10k", TEST)):
        for name in (f"{kind}-images-idx3-ubyte", f"{kind}-labels-idx1-ubyte"):
            cut(source / f"{name}.gz", folder / "data" / f"{name}.gz", count)


def data_places():
    named = [pathlib.Path(place) for place in os.environ.get("TANTU_DATA_DIR", "").split(":") if place]
    return [*named, *[place / "fashion-mnist" for place in named], pathlib.Path("/usr/share/datasets/fashion-mnist")]


def cut(source, target, count):
    """The first `count` records of an IDX file: magic (its last byte tells the dimensions), sizes, then the records."""
    with gzip.open(source) as file:
        magic = file.read(4)
        sizes = [int.from_bytes(file.read(4), "big") for _ in range(magic[3])]
        record = 1
        for size in sizes[1:]:
            record *= size
        count = min(count, sizes[0])
        body = file.read(count * record)
    head = magic + b"".join(size.to_bytes(4, "big") for size in [count, *sizes[1:]])
    with open(target, "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as file:
        file.write(head + body)


def copy_scripts(folder):
    for name in ("scripts/gpu_check", "bench/targets.csv", *[f"scripts/gpu_check_parts/{path.name}" for path in pathlib.Path(__file__).parent.glob("*.py")]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


def write_manifest(options, build, folder):
    files = {str(path.relative_to(folder)): places.sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    cuda = any("libtantu_cuda" in name for name in files)
    flags = f"sm_{options.arch}, {PROCESSOR}" if not options.build_dir else f"of {build.name}" + ("" if cuda else ", without CUDA: for rehearsals only")
    text = {"date": time.strftime("%Y-%m-%d"), "commit": places.git("rev-parse", "HEAD"), "dirty": places.tree_is_dirty(), "flags": flags, "files": files}
    (folder / places.MANIFEST).write_text(json.dumps(text, indent=1), encoding="utf-8")


def weigh(folder):
    sizes = sorted(((path.stat().st_size, path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()), reverse=True)
    total = sum(size for size, _ in sizes)
    for size, path in sizes[:6]:
        print(f"{size / 2**20:7.1f} MiB  {path}")
    print(f"{total / 2**20:7.1f} MiB  in all, of {LIMIT / 2**20:.0f}: {folder}")
    if total > LIMIT:
        raise Usage(f"--pack: {total / 2**20:.1f} MiB is more than {LIMIT / 2**20:.0f}: take fewer tests along (place.py) or one architecture (--arch)")
    return 0
