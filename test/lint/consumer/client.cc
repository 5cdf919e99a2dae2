// SPDX-License-Identifier: LGPL-2.1-or-later
#include <omniORB4/CORBA.h>

#include <folb/omnifolb.h>

int main(int argc, char **argv)
{
  if (omnifolb_init() != FOLB_OK)
    return 1;
  CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
  orb->destroy();
  return 0;
}
