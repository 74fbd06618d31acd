# SPDX-License-Identifier: Apache-2.0
# package.cmake - what CPack makes, in the folder of the build: `cpack` a Debian package of what `cmake --install`
# installs, `cpack --config CPackSourceConfig.cmake` a tarball of the sources of HEAD. Included last; CPack runs it as a
# script, too.

# --- as a script of CPack: it puts the committed files into the tarball, and no others ---
if(CPACK_TEMPORARY_INSTALL_DIRECTORY)
  if(CPACK_GENERATOR STREQUAL "TGZ")
    set(tar "${CPACK_TEMPORARY_DIRECTORY}.tar")
    execute_process(COMMAND git -C "${CPACK_GRADMARK_SOURCES}" archive --format=tar --output "${tar}" HEAD
                    COMMAND_ERROR_IS_FATAL ANY)
    file(ARCHIVE_EXTRACT INPUT "${tar}" DESTINATION "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
    file(REMOVE "${tar}")
  endif()
  return()
endif()

# --- included ---
install(FILES "${CMAKE_SOURCE_DIR}/packaging/copyright" "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/CHANGELOG.md"
              "${CMAKE_SOURCE_DIR}/gradmark.spdx.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/gradmark")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the gradmark maintainers")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Libraries that are linked, by dpkg-shlibdeps; then what the program starts.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, fonts-dejavu-core")
if(GRADMARK_HAVE_MPI)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", openmpi-bin")
endif()

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME "gradmark-${PROJECT_VERSION}")
set(CPACK_SOURCE_INSTALLED_DIRECTORIES "")
set(CPACK_GRADMARK_SOURCES "${CMAKE_SOURCE_DIR}")
set(CPACK_INSTALL_SCRIPTS "${CMAKE_CURRENT_LIST_FILE}")
include(CPack)
