// SPDX-License-Identifier: LGPL-2.1-or-later
// What is bound in a name server.
#include "client.h"

#include <omniORB4/Naming.hh>
#include <omniORB4/omniURI.h>

namespace client {

namespace {

CosNaming::NamingContext_var Root(const std::string &uri)
{
  CORBA::Object_var o = orb->string_to_object(uri.c_str());
  return CosNaming::NamingContext::_narrow(o);
}

CosNaming::Name_var Path(const std::string &name)
{
  return omni::omniURI::stringToName(name.c_str());
}

std::string BindContext(Arguments &in)
{
  CosNaming::NamingContext_var root = Root(Word(in));
  CosNaming::Name_var          path = Path(Word(in));
  CosNaming::NamingContext_var made = root->bind_new_context(path);
  return "ok";
}

std::string Bind(Arguments &in)
{
  CosNaming::NamingContext_var root   = Root(Word(in));
  const std::string            name   = Word(in);
  CORBA::Object_var            object = orb->string_to_object(Word(in).c_str());
  const long                   n      = Number(in, 1);
  for (long i = 0; i < n; i++) {
    CosNaming::Name_var path =
        Path(i == 0 ? name : name + std::to_string(i));
    root->rebind(path, object);
  }
  return "ok";
}

std::string Unbind(Arguments &in)
{
  CosNaming::NamingContext_var root = Root(Word(in));
  CosNaming::Name_var          path = Path(Word(in));
  root->unbind(path);
  return "ok";
}

} // namespace

void AddNaming(Commands &to)
{
  // naming_context ROOT NAME: binds a new context
  to["naming_context"] = BindContext;
  // naming_bind ROOT NAME URI [N]: binds an object as NAME, NAME1, ...
  to["naming_bind"] = Bind;
  // naming_unbind ROOT NAME
  to["naming_unbind"] = Unbind;
}

} // namespace client
