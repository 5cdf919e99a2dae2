// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef OMNIFOLB_FILE_H
#define OMNIFOLB_FILE_H

#include <string>

namespace omnifolb {

// The whole of a regular file of at most 16 MiB; false: why says why not.
bool read_file(const char* path, std::string& content, std::string& why);

// The text of an error number; any thread may ask.
std::string error_text(int number);

} // namespace omnifolb

#endif
