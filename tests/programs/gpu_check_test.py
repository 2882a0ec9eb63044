#!/usr/bin/env python3
"""scripts/gpu_check without a GPU: a rehearsal on the virtual one from a build folder; then its ways of going wrong, with
stand-ins for the programs and for nvidia-smi. Usage: gpu_check_test.py ROOT BUILD (without BUILD: the stand-ins only)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(sys.argv[1]).resolve()
build = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
scratch = pathlib.Path(tempfile.mkdtemp(prefix="gpu_check_test_"))
script = root / "scripts/gpu_check"
PROGRAMS = [*[f"tests/test_{name}" for name in ("core", "kernels", "autograd", "golden", "gpu", "ops")], "bench/tantu-bench", "examples/tutorial",
            "examples/fashion_mnist"]
ALLOWED = ("--query-gpu=", "--format=csv")  # all that nvidia-smi may be asked
QUIET_PATH = "/usr/bin:/bin"  # with CUDA_HOME nowhere: no sanitizer, no nvcc


def check(words, path=QUIET_PATH, script=script, **more):
    """(exit code, output, seconds) of gpu_check."""
    start = time.monotonic()
    done = subprocess.run([sys.executable, str(script), *[str(word) for word in words]], capture_output=True, text=True,
                          env={**os.environ, "PATH": path, "CUDA_HOME": "/nowhere", **more}, timeout=300)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def statuses(out):
    return {name: part["status"] for name, part in json.loads((out / "results.json").read_text())["parts"].items()}


def reused(out):
    return {name for name, part in json.loads((out / "results.json").read_text())["parts"].items() if part.get("reused")}


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


BENCH = """for word; do [ "$last" = --csv ] && csv=$word; [ "$last" = --filter ] && filter=$word; last=$word; done
[ -n "$csv" ] || exit 0
echo name,status,p25_s,p50_s,p75_s,samples,batch,bytes,flops,bytes_per_s,flops_per_s,frac_copy,error >"$csv"
echo "ceiling_copy/f32/256Mi/cuda/hot,ok,1,1,1,10,1,2000000000000,0,2000000000000,0,1.0,0" >>"$csv"
echo "ceiling_copy_again/f32/256Mi/cuda/hot,ok,1,1.002,1,10,1,2000000000000,0,2000000000000,0,1.0,0" >>"$csv"
echo "add/f32/64Mi/cuda/hot,ok,1,1,1,10,1,1000,0,1000,0,0.955,0" >>"$csv"
echo "sum/f32/64Mi/cuda/hot,ok,1,1,1,10,1,1000,0,1000,0,0.5,0" >>"$csv"
"""


def stand_ins(name, **changes):
    """A build folder of programs that pass, but for the changes."""
    folder = scratch / name
    for path in PROGRAMS:
        program(folder / path, "echo 'All tests passed'\n")
    program(folder / "tests/test_gpu", "[ \"$2\" = --list-tags ] && echo '  4  [#copy_test]' && echo '  1  [#stream_test]'; echo 'All tests passed'\n")
    program(folder / "bench/tantu-bench", BENCH)
    program(folder / "examples/tutorial", f"cat {root}/examples/tutorial.expected\n")
    program(folder / "examples/fashion_mnist", "echo 'test accuracy: 80.00 % after'\n")
    for path, text in changes.items():
        program(folder / path.replace("__", "/"), text)
    return folder


def with_gpu():
    """A PATH on which nvidia-smi tells of a GPU and writes down what it is asked."""
    folder = scratch / "smi"
    program(folder / "nvidia-smi", f"""for word; do echo "$word" >>{scratch}/smi.log; done
echo "NVIDIA H200, GPU-0, 580.1, 9.0, 143771, 143000, 345, 1980, 30, 75.1, Disabled, [N/A]"
""")
    return f"{folder}:{QUIET_PATH}"


# ---- nothing runs, nothing is written

out = scratch / "dry"
code, text, _ = check(["--dry-run", "--build-dir", stand_ins("plain"), "--out", out])
assert code == 0 and "bench_gemm" in text and not out.exists(), (code, text)
for words in (["--parts", "nonsense"], ["--redo", "nonsense"], ["--build-dir", scratch / "absent"], ["--no-such-flag"], ["--publish", "--out", out],
              ["--pack-dir", root / "docs"]):
    code, text, _ = check([*words, "--out", out])
    assert code == 2, (words, code, text)

# ---- no GPU: said aloud, never passed

out = scratch / "none"
code, text, _ = check(["--build-dir", stand_ins("plain"), "--out", out])
assert code == 77 and "NO GPU: nothing is proven" in text, (code, text)
assert {name for name, status in statuses(out).items() if status == "passed"} == {"report"}, statuses(out)
assert "nothing is proven" in (out / "report.md").read_text()

# ---- a machine that has one (stand-ins): grades, files, a second run, --redo, and no word that sets anything

path, out = with_gpu(), scratch / "whole"
code, text, _ = check(["--build-dir", stand_ins("plain"), "--out", out], path)
want = {**{name: "passed" for name in ("probe", "tests", "ceilings", "bench_mem", "bench_gemm", "train", "report")}, "sanitize": "SKIPPED"}
assert code == 0 and statuses(out) == want, (code, text, statuses(out))
report = (out / "report.md").read_text()
assert "| add | add/f32 | copy | 0.92 | 0.97 | 1.00 | 0.955 | pass |" in report and "| 0.500 | MISSED |" in report, report
assert "0.20%." in report and "NOT HARDWARE" not in report and "compute-sanitizer is not on this machine" in report, report
assert sorted(file.name for file in out.iterdir()) == ["bench.csv", "junit.xml", "log.txt", "report.md", "results.json"]
assert "ecc.mode.current" not in report, "an absent value is an absent key"
code, text, _ = check(["--build-dir", scratch / "plain", "--out", out], path)
assert code == 0 and reused(out) == {"tests", "ceilings", "bench_mem", "bench_gemm", "train"}, (text, reused(out))
code, text, _ = check(["--build-dir", scratch / "plain", "--out", out, "--redo", "train"], path)
assert code == 0 and reused(out) == {"tests", "ceilings", "bench_mem", "bench_gemm"}, (text, reused(out))
code, text, _ = check(["--build-dir", scratch / "plain", "--out", out, "--parts", "tests", "--redo", "tests"], path)
assert code == 0 and statuses(out) == want and reused(out) == {"ceilings", "bench_mem", "bench_gemm", "train", "sanitize"}, (text, statuses(out))
for word in (scratch / "smi.log").read_text().split("\n"):
    assert not word or word.startswith(ALLOWED), f"nvidia-smi was given {word}"

# ---- other programs: nothing of the old run counts

code, text, _ = check(["--build-dir", stand_ins("plain", tests__test_core="echo other\n"), "--out", out], path)
assert code == 0 and not reused(out), (text, reused(out))

# ---- failures leave a report, and the other parts run

out = scratch / "failing"
folder = stand_ins("failing", tests__test_core="echo 'core is broken'; exit 1\n", tests__test_kernels="kill -SEGV $$\n", examples__tutorial="echo 0.75\n",
                   bench__tantu__bench="")
program(folder / "bench/tantu-bench", BENCH + "echo 'WRONG add/f32/64Mi/cuda/hot: relative error 1'; exit 1\n")
code, text, _ = check(["--build-dir", folder, "--out", out], path)
found, report = statuses(out), (out / "report.md").read_text()
assert code == 1 and found["tests"] == found["ceilings"] == found["train"] == "FAILED", (code, found)
assert "core is broken" in report and "SIGSEGV" in report and "WRONG add/f32" in report and "printed other numbers" in report, report
assert "<failure" in (out / "junit.xml").read_text()
code, text, _ = check(["--build-dir", folder, "--out", out, "--parts", "tests"], path)
assert code == 1, "what failed is run again and fails again"
items = {item["name"]: item for item in json.loads((out / "results.json").read_text())["parts"]["tests"]["items"]}
assert items["gpu: copy_test"].get("reused") and not items["core"].get("reused"), items

# ---- nothing to run, and nothing to build with

out = scratch / "unbuilt"
code, text, _ = check(["--pack-dir", scratch / "absent", "--out", out], path)
found = statuses(out)
assert code == 1 and found["build"] == "FAILED" and found["tests"] == found["train"] == "SKIPPED", (code, found, text)
assert "no nvcc to build with" in text, text

# ---- the sanitizer: what it finds, what it does not, and where it refuses

for name, says, want in (("clean", "========= ERROR SUMMARY: 0 errors", "passed"), ("found", "========= ERROR SUMMARY: 2 errors", "FAILED"),
                         ("mute", "nothing", "FAILED"), ("refused", "========= Error: Device not supported", "SKIPPED")):
    tool = scratch / f"sanitizer_{name}"
    program(tool / "compute-sanitizer", f"echo '{says}'\n")
    code, text, _ = check(["--build-dir", stand_ins("plain"), "--out", scratch / name, "--parts", "sanitize"], f"{tool}:{path}")
    assert statuses(scratch / name)["sanitize"] == want and code == (1 if want == "FAILED" else 0), (name, code, text)

# ---- a driver that lists a GPU which our program can't use: a failure, no skip

out = scratch / "unusable"
folder = stand_ins("unusable")
program(folder / "bench/tantu-bench", "echo 'SKIPPED: the driver is too old'; exit 77\n")
code, text, _ = check(["--build-dir", folder, "--out", out], path)
assert code == 1 and statuses(out)["probe"] == "FAILED" and statuses(out)["tests"] == "SKIPPED" and "too old" in text, (code, text)

# ---- a program that hangs and ignores TERM is ended, with what it started, and no one else

out = scratch / "hanging"
bystander = subprocess.Popen(["sleep", "120"])
folder = stand_ins("hanging", tests__test_gpu=f"[ \"$2\" = --list-tags ] && exit 0\ntrap '' TERM\nsh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo $! >{scratch}/grandchild\nwhile :; do sleep 1; done\n")
code, text, seconds = check(["--build-dir", folder, "--out", out, "--deadline", "14", "--parts", "tests"], path)
assert code == 0 and statuses(out)["tests"] == "PARTIAL" and "resume with" in text, (code, text, statuses(out))
assert seconds < 16, seconds
assert bystander.poll() is None, "a process that was not started here was ended"
bystander.kill()
bystander.wait()
grandchild = (scratch / "grandchild").read_text().strip()
state = pathlib.Path(f"/proc/{grandchild}/stat")
assert not state.exists() or state.read_text().split()[2] == "Z", "what the hanging program started lives on"
assert not pathlib.Path(out / "work").exists()

# ---- interrupted: the report is there all the same

out = scratch / "interrupted"
process = subprocess.Popen([sys.executable, str(script), "--build-dir", str(folder), "--out", str(out)], env={**os.environ, "PATH": path, "CUDA_HOME": "/nowhere"},
                           stdout=subprocess.PIPE, text=True)
while process.poll() is None and not (out / "results.json").exists():
    time.sleep(0.05)
time.sleep(0.5)
process.terminate()
text = process.communicate(timeout=60)[0]
assert process.returncode == 1 and "interrupted by SIGTERM" in text and (out / "report.md").exists(), (process.returncode, text)

# ---- publishing: a clean tree of a complete run, nothing else

tree = scratch / "tree"
for name in ("scripts", "bench", "docs", "examples", "tests/golden"):
    shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
(tree / ".gitignore").write_text("/build*/\n")
git = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@t"]
for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
    subprocess.run([*git, *words], check=True)
theirs, page, out = tree / "scripts/gpu_check", tree / "docs/hardware.md", tree / "build/results"
folder = stand_ins("plain")
code, text, _ = check(["--build-dir", folder, "--out", out, "--parts", "tests,ceilings"], path, theirs)
assert code == 0, text
code, text, _ = check(["--publish", "--out", out], path, theirs)
assert code == 2 and "bench_mem is missing" in text, (code, text)
code, text, _ = check(["--build-dir", folder, "--out", out], path, theirs)
assert code == 0, text
(tree / "docs/new").write_text("not committed\n")
code, text, _ = check(["--publish", "--out", out], path, theirs)
assert code == 2 and "dirty" in text, (code, text)
(tree / "docs/new").unlink()
before = page.read_text()
code, text, _ = check(["--publish", "--out", out], path, theirs)
assert code == 0 and page.read_text() != before and "| NVIDIA H200 | 580.1 |" in page.read_text(), (code, text)
assert "nothing has run yet" not in page.read_text() and page.read_text().count("\n| 20") == 1, page.read_text()
subprocess.run([*git, "commit", "-q", "-a", "-m", "row"], check=True)
results = json.loads((out / "results.json").read_text())
for change, word in (({"rehearsal": True}, "no hardware"), ({"dirty": True}, "dirty")):
    (out / "results.json").write_text(json.dumps({**results, **change}))
    code, text, _ = check(["--publish", "--out", out], path, theirs)
    assert code == 2 and word in text, (change, code, text)
results["parts"]["tests"]["status"] = "PARTIAL"
(out / "results.json").write_text(json.dumps(results))
code, text, _ = check(["--publish", "--out", out], path, theirs)
assert code == 2 and "tests is PARTIAL" in text, (code, text)

# ---- the real programs, on the virtual GPU: from the build folder, then from a pack of it

if build:
    out = scratch / "rehearsal"
    code, text, seconds = check(["--rehearse", "--build-dir", build, "--out", out])
    assert code == 0 and seconds < 120, (code, seconds, text)
    want = {**{name: "passed" for name in ("probe", "tests", "ceilings", "bench_mem", "bench_gemm", "train", "report")}, "sanitize": "SKIPPED"}
    assert statuses(out) == want, (statuses(out), text)
    report = (out / "report.md").read_text()
    assert "Emulation is not graded" in report and "MISSED" not in report, report
    assert "NOT HARDWARE" in report and "/vgpu/emulation" in report and "For docs/hardware.md" not in report, report
    code, text, again = check(["--rehearse", "--build-dir", build, "--out", out])
    assert code == 0 and reused(out) == {"tests", "ceilings", "bench_mem", "bench_gemm", "train"}, (text, reused(out))
    print(f"rehearsal {seconds:.1f} s, again {again:.1f} s")
    pack = scratch / "pack"
    code, text, _ = check(["--pack", "--build-dir", build, "--pack-dir", pack], os.environ["PATH"])
    assert code == 0, text
    libraries = {file.name.split(".so")[0] for file in (pack / "lib").iterdir()}
    assert {"libtantu", "libtantu_core", "libfmt", "libbenchmark"} <= libraries and not {"libc", "libm", "libstdc++", "libgcc_s"} & libraries, libraries
    code, text, _ = check(["--rehearse", "--out", scratch / "packed"], script=pack / "scripts/gpu_check", TANTU_DATA_DIR="/nowhere")
    assert code == 0 and "pack of" in text and statuses(scratch / "packed") == want, (code, text)
    (pack / "bin/tutorial").write_text("other")
    code, text, _ = check(["--rehearse", "--out", scratch / "packed"], script=pack / "scripts/gpu_check")
    assert code == 2 and "damaged" in text, (code, text)

shutil.rmtree(scratch)
print("ok")
