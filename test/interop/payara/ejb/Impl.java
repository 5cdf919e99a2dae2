// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicInteger;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import org.glassfish.hk2.api.ActiveDescriptor;
import org.glassfish.hk2.api.ServiceLocator;
import org.glassfish.hk2.utilities.BuilderHelper;
import org.glassfish.internal.api.Globals;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.OBJECT_NOT_EXIST;
import org.omg.CORBA.OBJ_ADAPTER;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TRANSIENT;

public abstract class Impl implements java.io.Serializable {
  private static final AtomicInteger raised = new AtomicInteger();

  private int count;

  public String whereAmI() {
    return System.getProperty("com.sun.aas.instanceName");
  }

  public int next() {
    return ++count;
  }

  public void slow(int milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException e) {
      throw new RuntimeException(e);
    }
  }

  public String echo(String text) {
    return text;
  }

  public void fail(String why) throws FolbException {
    throw new FolbException(why);
  }

  public void sysfail() {
    throw new IllegalStateException("sysfail");
  }

  // "members", "add:INSTANCE", "remove:INSTANCE": what this instance's own
  // server thinks its cluster is.  The server calls the same two methods
  // when Hazelcast tells it that an instance came or went; in Payara 6 the
  // former fails, because the new instance's name is not known yet.
  // Also what lets exceptions of CORBA out, and "raised", how often it did.
  public String admin(String command) {
    if (command.equals("raised")) {
      return String.valueOf(raised.get());
    }
    if (command.startsWith("raise:") || command.startsWith("nest:")) {
      raised.incrementAndGet();
      return raise(command.substring(command.indexOf(':') + 1));
    }
    try {
      Object client = groupClient();
      if (command.equals("members")) {
        return String.valueOf(get(client, "currentMembers"));
      }
      String[] words = command.split(":");
      Method change =
          client.getClass().getDeclaredMethod(words[0] + "Member", String.class);
      change.setAccessible(true);
      Thread thread = new Thread(() -> {
        try {
          Thread.sleep(100);
          change.invoke(client, words[1]);
        } catch (Exception e) {
          e.printStackTrace();
        }
      });
      // Never in a call: a change waits for the calls that are running.
      thread.setDaemon(true);
      thread.start();
      return "changed";
    } catch (ReflectiveOperationException | RuntimeException e) {
      return "failed: " + e;
    }
  }

  // An exception as the adapter here would send it, or what calling an object,
  // of which a URL is given, ends with.
  private static String raise(String what) {
    CompletionStatus no = CompletionStatus.COMPLETED_NO;
    switch (what) {
      case "transient": throw new TRANSIENT("bean", 0x53550001, no);
      case "objnotexist": throw new OBJECT_NOT_EXIST("bean", 0x53550002, no);
      case "objadapter": throw new OBJ_ADAPTER("bean", 0x4f4d0321, no);
      default: break;
    }
    try {
      ORB orb = (ORB) new InitialContext().lookup("java:comp/ORB");
      return "" + orb.string_to_object(what)._is_a("IDL:nobody:1.0");
    } catch (NamingException e) {
      return "failed: " + e;
    }
  }

  private static Object groupClient() throws ReflectiveOperationException {
    ServiceLocator locator = Globals.getDefaultHabitat();
    ActiveDescriptor<?> descriptor =
        locator.getBestDescriptor(BuilderHelper.createContractFilter(
            "org.glassfish.enterprise.iiop.api.GlassFishORBFactory"));
    Object factory = locator.getServiceHandle(descriptor).getService();
    return get(get(factory, "gfORBManager"), "gmsClient");
  }

  private static Object get(Object of, String name)
      throws ReflectiveOperationException {
    Field field = of.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }
}
