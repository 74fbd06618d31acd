# SPDX-License-Identifier: Apache-2.0
"""Environments of Python that hold gradmark's peers from PyPI, for scripts/measure horovod: FOLDER/horovod, FOLDER/torch.

  E1  An environment is made aside and moved when it is whole; its programs are called as modules, for they name where it was made.
  E2  Whole is what can be imported and says the version that is meant; what is whole is left as it is.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train")
HOROVOD, TORCH_FOR_HOROVOD = "0.28.1", "2.0.1"  # the last Horovod; it does not build with PyTorch 2.1 or later
LAST_PYTHON = (3, 11)  # with a torch of this version
NEEDS = (("cmake", "cmake"), ("g++", "g++"), ("mpicxx", "libopenmpi-dev"), ("mpirun", "openmpi-bin"))
PIP = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-compile")
STEPS = {  # arguments of python, one call each
    "horovod": ((*PIP, "setuptools<70", "wheel"),
                (*PIP, "torch==" + TORCH_FOR_HOROVOD, "numpy<2", "cloudpickle", "psutil", "pyyaml", "packaging"),
                (*PIP, "--no-build-isolation", "--no-binary", "horovod", "horovod==" + HOROVOD)),
    "torch": ((*PIP, "torch", "numpy"),),
}
BUILD = {"HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITH_MPI": "1", "HOROVOD_WITH_GLOO": "1", "HOROVOD_WITHOUT_TENSORFLOW": "1",
         "HOROVOD_WITHOUT_MXNET": "1", "CMAKE_POLICY_VERSION_MINIMUM": "3.5"}


class Unusable(Exception):
    pass


def python_of(folder, peer):
    return os.path.join(folder, peer, "bin", "python")


def last_line(text):
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def about(folder, peer):
    """What the PyTorch and Horovod of an environment say of themselves; Unusable where they cannot be used."""
    python = python_of(folder, peer)
    if not os.path.exists(python):
        raise Unusable("there is no %s" % python)
    said = subprocess.run([python, TRAIN, "--about"], capture_output=True, text=True)
    if said.returncode != 0:
        raise Unusable("%s cannot be used: %s" % (python, last_line(said.stderr)))
    out = json.loads(last_line(said.stdout))
    if peer == "horovod" and (out.get("horovod") != HOROVOD or not out["mpi"] or not out["gloo"]):
        raise Unusable("%s has not Horovod %s with MPI and Gloo, but %s" % (python, HOROVOD, out.get("horovod")))
    return out


def check_needs(peer, python):
    said = subprocess.run([python, "-c", "import sys, sysconfig, venv; print(*sys.version_info[:2], sysconfig.get_path('include'))"],
                          capture_output=True, text=True)
    if said.returncode != 0:
        raise Unusable("%s: %s (package python3-venv)" % (python, last_line(said.stderr)))
    major, minor, headers = said.stdout.split(maxsplit=2)
    if peer != "horovod":
        return
    if (int(major), int(minor)) > LAST_PYTHON:
        raise Unusable("--python %s: PyTorch %s, which Horovod needs, is for Python %d.%d at most, and this is %s.%s" % (
            python, TORCH_FOR_HOROVOD, *LAST_PYTHON, major, minor))
    lacks = [package for program, package in NEEDS if not shutil.which(program)]
    if not os.path.exists(os.path.join(headers.strip(), "Python.h")):
        lacks.append("python3-dev")
    if lacks:
        raise Unusable("to build Horovod this machine lacks %s" % ", ".join(lacks))


def install(folder, peer, python, say):
    """E1, E2."""
    try:
        about(folder, peer)
        say("%s is there" % os.path.join(folder, peer))
        return
    except Unusable as why:
        say(why)
    final = os.path.join(folder, peer)
    if os.path.lexists(final):
        raise Unusable("%s is in the way: remove it" % final)
    check_needs(peer, python)
    os.makedirs(folder, exist_ok=True)
    made = tempfile.mkdtemp(prefix=peer + ".", dir=folder)
    env = dict(os.environ, MAKEFLAGS="-j%d" % len(os.sched_getaffinity(0)), **BUILD)
    try:
        calls = [(python, "-m", "venv", made)] + [(os.path.join(made, "bin", "python"),) + step for step in STEPS[peer]]
        for call in calls:
            say(" ".join(call[1:]))
            done = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
            if done.returncode != 0:
                sys.stderr.write(done.stdout)
                raise Unusable("%s cannot be installed: %s" % (peer, last_line(done.stdout)))
        os.rename(made, final)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    about(folder, peer)
