# Tried: names of packages and variants against spack-packages of July 2026 (1e8cf05), and the options of CMake with all
# variants off. Not tried: Spack itself.
# SPDX-License-Identifier: Apache-2.0
#
# spack repo create gradmark-repo gradmark; copy this file to its packages/gradmark/package.py; spack repo add its folder;
# then in the folder of the sources:   spack dev-build gradmark@main +mpi
# The simulated world needs no variant: it is always built.

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Gradmark(CMakePackage, CudaPackage):
    """What it costs to turn many workers' gradients into the next parameters: a benchmark of parameter servers and
    allreduce."""

    license("Apache-2.0", checked_by="gradmark")

    version("main")

    variant("mpi", default=True, description="World mpi, and the allreduce of the MPI library")
    variant("nccl", default=False, when="+cuda", description="Allreduce by NCCL")
    variant("onednn", default=True, description="Products by oneDNN: faster fp32, and bf16")
    variant("gloo", default=False, description="Allreduce by Gloo")
    variant("pictures", default=False, description="gradmark pack reads JPEG and PNG files")
    variant("charts", default=True, description="Draw charts with gnuplot")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+gloo")
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

    def cmake_args(self):
        # What the machine has beside Spack is not used.
        packages = {"MPI": "+mpi", "CUDAToolkit": "+cuda", "JPEG": "+pictures", "PNG": "+pictures"}
        headers = {"GRADMARK_ONEDNN": "+onednn", "NCCL": "+nccl", "GRADMARK_GLOO": "+gloo"}
        has = self.spec.satisfies
        args = [self.define("CMAKE_DISABLE_FIND_PACKAGE_" + name, not has(on)) for name, on in packages.items()]
        args += [self.define(name + "_INCLUDE_DIR", "") for name, on in headers.items() if not has(on)]
        if has("+cuda") and not has("cuda_arch=none"):
            args.append(self.define("GRADMARK_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return args
