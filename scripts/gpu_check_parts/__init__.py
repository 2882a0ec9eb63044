"""The parts of scripts/gpu_check, one idea a file."""
