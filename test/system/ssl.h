// SPDX-License-Identifier: LGPL-2.1-or-later
// Servers and clients that speak SSL: omniORB's own transport, with one
// certificate for all.
#ifndef FOLB_TEST_SYSTEM_SSL_H
#define FOLB_TEST_SYSTEM_SSL_H

#include "protocol.h"

namespace folbtest {

constexpr char kSslTransport[] = FOLB_TEST_SSL_TRANSPORT;

// TAG_SSL_SEC_TRANS as omniORB's servers write it.
constexpr uint32_t kSecTrans = 20;

inline Octets SecTrans(int port)
{
  CdrOut out = CdrOut::Encapsulation(true);
  out.U16(0x66);
  out.U16(0x66);
  out.U16(static_cast<uint16_t>(port));
  return out.octets;
}

class SslTest : public Protocol
{
protected:
  SslTest()
  {
    const std::string key = dir_.File("key"), cert = dir_.File("cert");
    const Finished    made = RunProgram(
        {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=test", "-days", "2", "-keyout", key, "-out", cert},
        {}, 60000);
    EXPECT_EQ("exit 0", made.status) << made.output;
    dir_.Write("both", Contents(key) + Contents(cert));
    env_ = {"ORBsslCAFile=" + cert, "ORBsslKeyFile=" + dir_.File("both"),
            "ORBsslKeyPassword=x", "ORBsslVerifyMode=none", kNoLocate};
  }
  // What SSL takes, the transport and more.
  Strings With(const Strings &preload, const Strings &more = {}) const
  {
    Strings env = env_;
    env.insert(env.end(), preload.begin(), preload.end());
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
  // Three references, in one line.
  std::string Serve(Process &process, const std::string &name,
                    const Strings &endpoints, const Strings &more = {})
  {
    Strings argv = {FOLB_TEST_SERVER, name, dir_.File("log")};
    for (const std::string &e : endpoints) {
      argv.push_back("-ORBendPoint");
      argv.push_back(e);
    }
    Strings env = With(PluginEnv(kSslTransport), more);
    env.push_back("FOLB_TEST_EXPECT=loaded");
    process.Start({argv, env, dir_.File(name + ".err")});
    std::string line;
    EXPECT_TRUE(process.Hear(line, 30000))
        << Contents(dir_.File(name + ".err"));
    return line;
  }

  Strings env_;
};

} // namespace folbtest

#endif
