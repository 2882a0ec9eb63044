#!/usr/bin/env python3
"""The kernel gates' own test: what scripts/check_kernels must find is planted and found, each time; its arithmetic and its
reader of machine code give known answers. Without nvcc only what needs no compiler runs (exit 77)."""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
loader = importlib.machinery.SourceFileLoader("check_kernels", str(root / "scripts/check_kernels"))
sys.dont_write_bytecode = True
gates = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_kernels", loader))
loader.exec_module(gates)

# ---- arithmetic

for arch, threads, registers, kib, want in [(80, 384, 168, 192, 0), (86, 384, 168, 192, 0), (89, 384, 168, 192, 0), (120, 384, 168, 192, 0),
                                            (90, 384, 168, 192, 1), (100, 384, 168, 192, 1), (80, 256, 128, 96, 1), (86, 256, 128, 96, 1),
                                            (120, 256, 128, 96, 1), (90, 256, 128, 96, 2), (100, 256, 128, 96, 2), (90, 256, 32, 0, 8),
                                            (90, 256, 33, 0, 6), (90, 1024, 255, 0, 0)]:
    got = gates.blocks_per_multiprocessor(arch, threads, registers, kib * 1024)
    assert got == want, (arch, threads, registers, kib, got, want)

good = {"kernel": "k<float>", "arch": 90, "source": "k.cu", "registers": 32, "stack": 0, "spills": 0, "static": 0, "threads": 256, "blocks": 0,
        "fast": [], "f64": [], "instructions": 100, "loads": 1, "stores": 1, "wide_loads": 0, "wide_stores": 0, "local": 0, "matrix": 0,
        "thread_flight": 4}
limit = {"registers": "32", "instructions": "100", "flight": "8192"}


def told(allowances=(), of=limit, **changes):
    return "\n".join(gates.breaches_of({**good, **changes}, of, list(allowances), True))


assert told() == ""
for changes, expected in [({"registers": 33}, "33 registers; limit 32"), ({"instructions": 106}, "106 instructions"), ({"spills": 4}, "G1"),
                          ({"stack": 8}, "G1"), ({"threads": 0}, "no __launch_bounds__"), ({"registers": 72}, "768 threads fit"),
                          ({"threads": 1024, "registers": 80}, "no block fits"), ({"fast": ["sin.approx.f32"]}, "G6 k<float> sm_90 (k.cu): sin.approx.f32"),
                          ({"f64": ["mul.f64"]}, "float64 arithmetic"), ({"local": 2}, "G7"),
                          ({"wide_loads": 1, "thread_flight": 16}, "G5 k<float> sm_90 (k.cu): 32768 bytes under way (2048 threads of 16)"),
                          ({"thread_flight": 2}, "G5 k<float> sm_90 (k.cu): 4096 bytes under way; at least 8192 are recorded"),
                          ({"instructions": 9000, "of": {**limit, "instructions": "9000"}}, "G7 k<float> sm_90 (k.cu): 9000 instructions, limit 8192"),
                          ({"kernel": "k<(DType)6>", "f64": ["mul.f64"]}, "float64 arithmetic"), ({"of": None}, "has no line in kernels/limits.csv"),
                          ({"kernel": "copy_dense_kernel"}, "promised 1 and 1"), ({"kernel": "matmul_wmma_kernel<__half>"}, "no matrix instruction")]:
    assert expected in told(**changes), (changes, told(**changes))
assert told([(gates.re.compile("k<"), ["sin.approx.f32"])], fast=["sin.approx.f32"]) == ""
assert told([(gates.re.compile("k<"), ["flight"])], wide_loads=1, thread_flight=16) == ""
assert told(wide_loads=1, thread_flight=32) == "" and told(arch=80, wide_loads=1, thread_flight=16) == ""
assert told(kernel="k<(DType)7>", f64=["mul.f64"]) == ""

source = pathlib.Path("k.cu")
for cost, bytes_, seconds, breach, only_told in [({"bytes": "100", "seconds": "0"}, 110, 7.4, "", ""), ({"bytes": "100", "seconds": "0"}, 111, 1, "111 bytes", ""),
                                                 ({"bytes": "100", "seconds": "0"}, 100, 7.6, "", "7.6 s; limit 6.0"),
                                                 ({"bytes": "100", "seconds": "0"}, 100, 12.1, "G8 k.cu sm_90: compiled in 12.1 s", ""),
                                                 ({"bytes": "100", "seconds": "11"}, 100, 13, "", ""), (None, 1, 1, "no line in kernels/costs.csv", "")]:
    lines = gates.cost_breaches({(source, 90): {"bytes": bytes_, "seconds": seconds}}, {("k.cu", 90): cost} if cost else {}, True)
    for have, want in zip(lines, (breach, only_told)):
        assert len(have) == (1 if want else 0) and want in "".join(have), (cost, bytes_, seconds, lines)
for note in ("ptxas info : (C7508) Potential Performance Loss: 'setmaxnreg' ignored", "ptxas info : (C7519) arrive injected"):
    assert len(list(gates.notes({(pathlib.Path("k.cu"), 90): {"log": f"ptxas info : 0 bytes gmem\n{note}\n"}}))) == 1
assert not list(gates.notes({(pathlib.Path("k.cu"), 90): {"log": "ptxas info    : Used 14 registers"}}))

nvcc = gates.find_nvcc()
if not nvcc:
    print("SKIPPED: no nvcc on this machine; the gates' arithmetic holds")
    sys.exit(77)

# ---- planted sources

HEAD = "__global__ void __launch_bounds__({bounds}) {name}(float* x, const float* y) {{ const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
PLANTED = {
    "spill": (HEAD.format(bounds="1024, 2", name="planted_spill") + """
  float v[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) v[j] = y[i + j * 1024];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int j = 0; j < 48; ++j) v[j] = fmaf(v[j], v[(j + 7 * k + 1) % 48], v[(j + 5) % 48]);
#pragma unroll
  for (int j = 0; j < 48; ++j) x[i + j * 1024] = v[j];
}""", ["G1 planted_spill", "G7 planted_spill"]),
    "ftz": (HEAD.format(bounds="256", name="planted_ftz") + """
  float v;
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(v) : "f"(x[i]), "f"(y[i]));
  x[i] = v;
}""", ["G6 planted_ftz", "add.ftz.f32", "G9 kernels/planted_ftz.cu:4: asm"]),
    "approx": (HEAD.format(bounds="256", name="planted_approx") + "  x[i] = __sinf(y[i]);\n}", ["sin.approx.f32"]),
    "bounds": ("__global__ void planted_bounds(float* x) { x[threadIdx.x] = 1; }", ["no __launch_bounds__"]),
    "narrow": (HEAD.format(bounds="256", name="copy_dense_kernel") + "  x[i] = y[i];\n}", ["G7 copy_dense_kernel", "promised 1 and 1"]),
    "flight": (HEAD.format(bounds="256", name="planted_flight") + """
  reinterpret_cast<float4*>(x)[i] = reinterpret_cast<const float4*>(y)[i];
}""", ["G5 planted_flight", "32768 bytes under way (2048 threads of 16)", "G8 planted_flight.cu sm_90: has no line"]),
    "angles": ("__global__ void __launch_bounds__(32) planted_angles(int* x) { x[0] = 1; }\n"
               "void start(int* x) { planted_angles<<<1, 1>>>(x); }", ["G9 kernels/planted_angles.cu:2: <<<"]),
}
PROBE = """#include <mma.h>
__global__ void __launch_bounds__(256) probe_wide(float4* x, const float4* y) { x[threadIdx.x] = y[threadIdx.x + 1]; }
__global__ void __launch_bounds__(256) probe_narrow(float* x, const float* y) { x[threadIdx.x] = y[threadIdx.x + 1]; }
__global__ void __launch_bounds__(256) probe_two(float4* __restrict__ x, const float4* __restrict__ y) {
  const float4 a = y[threadIdx.x], b = y[threadIdx.x + 256];
  x[threadIdx.x] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__global__ void __launch_bounds__(256) probe_chain(float* __restrict__ x, const float* __restrict__ y, const int* __restrict__ at) {
  x[threadIdx.x] = y[at[threadIdx.x]];
}
__global__ void __launch_bounds__(32) probe_unit(float* y, const __half* x) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, row_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.0f);
  load_matrix_sync(a, x, 16);
  load_matrix_sync(b, x, 16);
  mma_sync(c, a, b, c);
  store_matrix_sync(y, c, 16, mem_row_major);
}
"""

with tempfile.TemporaryDirectory() as folder:
    copy, work = pathlib.Path(folder) / "tree", pathlib.Path(folder) / "work"
    (copy / "kernels/gpu/cuda").mkdir(parents=True)
    for name in ("cmake", "core"):
        shutil.copytree(root / name, copy / name)
    for name in ("pointwise.def", "gpu/cuda/CMakeLists.txt", "arch.cuh"):
        shutil.copy(root / "kernels" / name, copy / "kernels" / name)
    for name, (text, expected) in PLANTED.items():
        path = copy / f"kernels/planted_{name}.cu"
        path.write_text(text + "\n")
        run = subprocess.run([sys.executable, root / "scripts/check_kernels", "--root", copy, "--work", work, "--files", path],
                             capture_output=True, text=True)
        assert run.returncode == 1, (name, run.stdout, run.stderr)
        for words in expected:
            assert words in run.stdout, (name, words, run.stdout)
        path.unlink()
    probe = pathlib.Path(folder) / "probe.cu"
    probe.write_text(PROBE)
    for arch in gates.ARCHITECTURES:
        facts = gates.compiled(nvcc, "probe", probe, arch, gates.include_folder(copy, work), copy, work)["sass"]
        by_name = {n: f for n in ("probe_wide", "probe_narrow", "probe_unit", "probe_two", "probe_chain") for k, f in facts.items() if n in k}
        wide, narrow, unit = (by_name[n] for n in ("probe_wide", "probe_narrow", "probe_unit"))
        assert (wide["loads"], wide["stores"], wide["wide_loads"], wide["wide_stores"]) == (1, 1, 1, 1), (arch, wide)
        assert (narrow["loads"], narrow["stores"], narrow["wide_loads"], narrow["wide_stores"]) == (1, 1, 0, 0), (arch, narrow)
        flights = [by_name[n]["thread_flight"] for n in ("probe_wide", "probe_narrow", "probe_two", "probe_chain")]
        assert flights == [16, 4, 32, 4], (arch, flights)
        assert unit["matrix"] > 0 and wide["matrix"] == 0, (arch, unit)
print(f"{len(PLANTED)} planted breaches found, the reader knows its opcodes")
