-- Tried: Lmod 8.6.19 with Lua 5.3: load, unload, help, whatis.
-- SPDX-License-Identifier: Apache-2.0
--
-- A module file for Lmod. cmake --install build/release --prefix /apps/gradmark/0.2.0; copy this file to
-- MODULEPATH/gradmark/0.2.0.lua and change the two lines that are marked.
local prefix = "/apps/gradmark/0.2.0" -- change
depends_on("openmpi") -- change: the MPI library that it was built with; none: remove the line

help("gradmark trains one network by parameter servers and by allreduce, and says which is faster. gradmark --help")
whatis("Name: gradmark")
whatis("Version: " .. myModuleVersion())
prepend_path("PATH", pathJoin(prefix, "bin")) -- man finds its pages by it; a MANPATH would hide all others
-- For programs that are linked with libgradmark.
prepend_path("LD_LIBRARY_PATH", pathJoin(prefix, "lib"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
