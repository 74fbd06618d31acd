# Tried: Spack 1.2.0.dev0 (9cf6633, January 2026), spack-packages of July 2026 (1e8cf05), Debian 12 with
# its libraries as externals: audit, spec, dev-build, install; with the default variants and all off.
# Not tried: installation with cuda, nccl, gloo or pictures.
# SPDX-License-Identifier: Apache-2.0
#
# spack repo create gradmark-repo gradmark; copy this file to its packages/gradmark/package.py,
# and change the line that is marked; spack repo add its folder; then
#
#   spack install gradmark +mpi             clones the sources, at the marked address
#   spack dev-build gradmark@main +mpi      takes the sources in the current folder
#
# The simulated world needs no variant: it is always built.

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Gradmark(CMakePackage, CudaPackage):
    """What it costs to turn many workers' gradients into the next parameters: a benchmark of
    parameter servers and allreduce."""

    git = "file:///path/to/gradmark"  # change: the folder or the address of the sources

    license("Apache-2.0", checked_by="gradmark")

    version("main", branch="main")

    variant("mpi", default=True, description="World mpi, and the allreduce of the MPI library")
    variant("nccl", default=False, when="+cuda", description="Allreduce by NCCL")
    variant("onednn", default=True, description="Products by oneDNN: faster fp32, and bf16")
    variant("gloo", default=False, description="Allreduce by Gloo")
    variant("pictures", default=False, description="gradmark pack reads JPEG and PNG files")
    variant("charts", default=True, description="Draw charts with gnuplot")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openblas")
    depends_on("libzmq@4.3: +libsodium")
    depends_on("hwloc@2:")
    depends_on("jansson@2.13:")
    depends_on("libcyaml@1.3:")
    depends_on("libyaml")
    depends_on("libsodium")
    depends_on("cmocka@1.1.5:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("onednn@2.4: cpu_runtime=omp", when="+onednn")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.14:", when="+nccl")
    depends_on("gloo", when="+gloo")
    depends_on("jpeg", when="+pictures")
    depends_on("libpng", when="+pictures")
    depends_on("gnuplot", type="run", when="+charts")

    @property
    def build_targets(self):
        return ["gradmark", "libgradmark"]  # not the tests

    def cmake_args(self):
        # What the machine has beside Spack is not used.
        packages = {"MPI": "+mpi", "CUDAToolkit": "+cuda", "JPEG": "+pictures", "PNG": "+pictures"}
        headers = {"GRADMARK_ONEDNN": "+onednn", "NCCL": "+nccl", "GRADMARK_GLOO": "+gloo"}
        has = self.spec.satisfies
        args = [self.define("CMAKE_SKIP_INSTALL_ALL_DEPENDENCY", True)]
        for name, variant in packages.items():
            args.append(self.define("CMAKE_DISABLE_FIND_PACKAGE_" + name, not has(variant)))
        for name, variant in headers.items():
            if not has(variant):
                args.append(self.define(name + "_INCLUDE_DIR", ""))
        if has("+cuda") and not has("cuda_arch=none"):
            architectures = ";".join(self.spec.variants["cuda_arch"].value)
            args.append(self.define("GRADMARK_CUDA_ARCHITECTURES", architectures))
        return args

    @run_after("install")
    def check_variants(self):
        # The build leaves out what does not work. Here that is an error.
        parts = {
            "world mpi": "+mpi",
            "cpu bf16": "+onednn",
            "reducer gloo": "+gloo",
            "JPEG files": "+pictures",
            "PNG files": "+pictures",
            "cuda": "+cuda",
            "nccl": "+nccl",
        }
        for line in Executable(self.prefix.bin.gradmark)("info", output=str).splitlines():
            part = line.split(" not built")[0].strip()
            if part in parts and part != line.strip() and self.spec.satisfies(parts[part]):
                raise InstallError(f"variant {parts[part]}: {line.strip()}")
