"""Run the tests of vectors, documents and fingerprints as other machines would compute: `python -m vectors.machines`.

numpy picks its loops by the processor's instruction sets, and BLAS its kernels. Both can be told to do without, which
gives other last bits. What devices share must not change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

TESTS = ("tests/test_vectors.py", "tests/test_portable.py", "tests/test_export.py", "tests/test_place_vectors.py")


def settings() -> dict[str, dict[str, str]]:
    """Return what to set for each kind of machine, by name; what this processor does not have is left out."""
    built = import_module("numpy._core._multiarray_umath")
    used = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    wide = [name for name in used if "512" in name or name == "X86_V4"]
    return {
        "plain": {},
        **({"no AVX-512": {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}} if wide else {}),
        **({"no AVX2 either": {"NPY_DISABLE_CPU_FEATURES": " ".join(used)}} if used else {}),
        "BLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "BLAS for Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    }


def main() -> int:
    """Run the tests under every setting but the plain one, which `make test` has; return 1 if one fails."""
    failed = 0
    for name, chosen in list(settings().items())[1:]:
        print(f"{name}: {' '.join(f'{key}={value!r}' for key, value in chosen.items())}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", *TESTS, *sys.argv[1:]]
        failed |= subprocess.run(command, env=os.environ | chosen, check=False).returncode != 0  # noqa: S603 (our own tests)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
