# Shared by scripts/demo, scripts/test and .ci/run: what to install, where to build.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${TANTU_JOBS:-$(nproc)}

say() { printf '\n== %s\n' "$*"; }

# Installs the Debian/Ubuntu packages that are missing. Root: without asking. Else: prints what is missing, why, and the
# command, and stops.
need() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "This machine has no apt-get. tantu needs: ${missing[*]}"
    exit 2
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "tantu needs packages that are not installed (compiler, libraries of README's table, the demo's images):"
    echo "  sudo apt-get install ${missing[*]}"
    exit 2
  fi
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_packages=(g++ cmake ninja-build ccache pkg-config libfmt-dev libeigen3-dev nlohmann-json3-dev zlib1g-dev libcli11-dev)
test_packages=(catch2 libbenchmark-dev dataset-fashion-mnist python3)
demo_packages=(dataset-fashion-mnist)

# The CUDA kernels take nvcc a long time: they are built where there is a GPU to run them (or TANTU_CMAKE_ARGS says so).
cuda_switch=-DTANTU_CUDA=OFF
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 && cuda_switch=-DTANTU_CUDA=AUTO

# configure FOLDER [cmake arguments…]
configure() {
  local folder=$1
  shift
  mkdir -p "$folder"
  cmake -G Ninja -S "$repo" -B "$folder" "$@" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; return 1; }
}
