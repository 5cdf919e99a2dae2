// SPDX-License-Identifier: LGPL-2.1-or-later
import folb.Where;
import folb.WhereHome;
import folb.WhereObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.TreeMap;
import javax.naming.InitialContext;
import javax.rmi.PortableRemoteObject;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.SystemException;

// The client of the application server's makers, with the commands and
// answers of ../client.cc; its servers are in the system property
// com.sun.appserv.iiop.endpoints.
public class JavaClient {
  private static final int DEADLINE_MS = 120000;

  interface Command {
    String run() throws Exception;
  }

  // A bean by either of its views.
  interface Bean {
    String whereAmI() throws Exception;
    int next() throws Exception;
    void slow(int milliseconds) throws Exception;
  }

  private static Bean bean(WhereObject o) {
    return new Bean() {
      public String whereAmI() throws Exception {
        return o.whereAmI();
      }
      public int next() throws Exception {
        return o.next();
      }
      public void slow(int milliseconds) throws Exception {
        o.slow(milliseconds);
      }
    };
  }

  private static Bean bean(Where o) {
    return new Bean() {
      public String whereAmI() {
        return o.whereAmI();
      }
      public int next() {
        return o.next();
      }
      public void slow(int milliseconds) {
        o.slow(milliseconds);
      }
    };
  }

  // "!CLASS:minor/completion" of the CORBA exception at the bottom of it.
  private static String guarded(Command command) {
    try {
      return command.run();
    } catch (Throwable thrown) {
      Throwable last = thrown;
      for (Throwable t = thrown; t != null; t = t.getCause()) {
        last = t;
        if (t instanceof SystemException) {
          SystemException x = (SystemException) t;
          String completion = x.completed == CompletionStatus.COMPLETED_YES
              ? "YES"
              : x.completed == CompletionStatus.COMPLETED_NO ? "NO" : "MAYBE";
          return "!" + x.getClass().getSimpleName() + ":0x"
              + Integer.toHexString(x.minor) + "/" + completion;
        }
      }
      return "!" + thrown.getClass().getSimpleName() + ":"
          + last.getClass().getSimpleName();
    }
  }

  static class Tally {
    private final Map<String, Integer> counts = new TreeMap<>();
    private long worst;

    synchronized void add(String answer, long microseconds) {
      counts.merge(answer, 1, Integer::sum);
      worst = Math.max(worst, microseconds);
    }

    synchronized String summary() {
      int calls = 0, errors = 0, maybe = 0;
      StringBuilder byAnswer = new StringBuilder();
      for (Map.Entry<String, Integer> e : counts.entrySet()) {
        int n = e.getValue();
        boolean error = e.getKey().startsWith("!");
        boolean inFlight = error && e.getKey().endsWith("/MAYBE");
        calls += n;
        maybe += inFlight ? n : 0;
        errors += error && !inFlight ? n : 0;
        byAnswer.append(" ").append(e.getKey()).append("=").append(n);
      }
      String summary = "calls=" + calls + " errors=" + errors
          + " maybe=" + maybe + " worst=" + worst + byAnswer;
      counts.clear();
      worst = 0;
      return summary;
    }
  }

  static long now() {
    return System.nanoTime() / 1000;
  }

  static class Load {
    private volatile boolean stop;
    private final Tally tally = new Tally();
    private final List<Thread> threads = new ArrayList<>();

    Load(Bean bean, int n) {
      for (; n > 0; n--) {
        Thread thread = new Thread(() -> {
          while (!stop) {
            long begin = now();
            String answer = guarded(bean::whereAmI);
            tally.add(answer, now() - begin);
            try {
              Thread.sleep(5);
            } catch (InterruptedException e) {
              return;
            }
          }
        });
        thread.setDaemon(true);
        thread.start();
        threads.add(thread);
      }
    }

    String end() throws InterruptedException {
      stop = true;
      for (Thread thread : threads) {
        thread.join();
      }
      return tally.summary();
    }
  }

  private final Map<String, InitialContext> contexts = new HashMap<>();
  private final Map<String, Bean> objects = new HashMap<>();
  private final Map<String, Load> loads = new HashMap<>();

  private static Bean lookup(InitialContext context, String name)
      throws Exception {
    Object home = context.lookup(name);
    return bean(((WhereHome) PortableRemoteObject.narrow(home, WhereHome.class))
                    .create());
  }

  private static Bean fresh(String name) throws Exception {
    return lookup(new InitialContext(), name);
  }

  private static String spread(int n, String name) {
    Tally tally = new Tally();
    for (; n > 0; n--) {
      long begin = now();
      String answer = guarded(() -> fresh(name).whereAmI());
      tally.add(answer, now() - begin);
    }
    return tally.summary();
  }

  private String bind(String object, String instance, String name)
      throws Exception {
    String at = "";
    for (int tries = 0; tries < 60; tries++) {
      InitialContext context = new InitialContext();
      Bean bean = lookup(context, name);
      at = bean.whereAmI();
      if (at.equals(instance)) {
        contexts.put(object, context);
        objects.put(object, bean);
        return at;
      }
    }
    return "never at " + instance + ", the last at " + at;
  }

  private String execute(String[] words) throws Exception {
    String a = words.length > 1 ? words[1] : "";
    String b = words.length > 2 ? words[2] : "";
    String c = words.length > 3 ? words[3] : "";
    switch (words[0]) {
      case "context":
        contexts.put(a, new InitialContext());
        return "opened";
      case "lookup":
        objects.put(a, lookup(contexts.get(b), c));
        return "created";
      case "open":
        objects.put(a, fresh(b));
        return "created";
      case "business":
        objects.put(a, bean((Where) contexts.get(b).lookup(c)));
        return "created";
      case "bind":
        return bind(a, b, c);
      case "spread":
        return spread(Integer.parseInt(a), b);
      case "whereami":
        return objects.get(a).whereAmI();
      case "next":
        return String.valueOf(objects.get(a).next());
      case "slow":
        objects.get(a).slow(Integer.parseInt(b));
        return "done";
      case "load":
        loads.put(a, new Load(objects.get(a), Integer.parseInt(b)));
        return "loaded";
      case "counted":
        return loads.get(a).tally.summary();
      case "unload":
        return loads.remove(a).end();
      default:
        return "no command " + words[0];
    }
  }

  public static void main(String[] args) throws Exception {
    JavaClient client = new JavaClient();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    Timer timer = new Timer(true);
    for (String line; (line = in.readLine()) != null;) {
      String[] words = line.trim().split(" +");
      TimerTask deadline = new TimerTask() {
        public void run() {
          Runtime.getRuntime().halt(3);
        }
      };
      timer.schedule(deadline, DEADLINE_MS);
      long begin = now();
      String answer = guarded(() -> client.execute(words));
      System.out.println(now() - begin + " " + answer);
      System.out.flush();
      deadline.cancel();
    }
    Runtime.getRuntime().halt(0);
  }
}
