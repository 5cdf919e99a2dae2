// SPDX-License-Identifier: LGPL-2.1-or-later
// A client on the GlassFish ORB:
//   GfClient REFERENCE [timeouts=250:5000:100]
// Commands and answers as those of ../cxx/client.cc; "wire" says what the
// last call carried.
import com.sun.corba.ee.impl.folb.ClientGroupManager;
import com.sun.corba.ee.impl.transport.DefaultSocketFactoryImpl;
import com.sun.corba.ee.spi.misc.ORBConstants;
import com.sun.corba.ee.spi.orb.DataCollector;
import com.sun.corba.ee.spi.orb.ORB;
import com.sun.corba.ee.spi.orb.ORBConfigurator;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.omg.CORBA.ORBPackage.InvalidName;
import org.omg.CORBA.SystemException;

public final class GfClient implements ORBConfigurator {
    private static final String[] COMPLETIONS = {"YES", "NO", "MAYBE"};
    private static volatile int connects;

    public static final class CountingFactory
            extends DefaultSocketFactoryImpl {
        @Override
        public Socket createSocket(String type, InetSocketAddress address)
                throws IOException {
            connects++;
            return super.createSocket(type, address);
        }
    }

    // The ORB makes one of these, by its name.
    public GfClient() {
    }

    @Override
    public void configure(DataCollector collector, ORB orb) {
        try {
            orb.register_initial_reference(
                ORBConstants.CSI_V2_SSL_TAGGED_COMPONENT_HANDLER,
                new GfCluster.NoSsl());
        } catch (InvalidName e) {
            throw new IllegalStateException(e);
        }
    }

    // "calls=N errors=N updates=N ANSWER..." of that many calls
    private static String count(interop.Echo echo, int n) {
        Map<String, Integer> answers = new TreeMap<>();
        int errors = 0;
        int updates = 0;
        for (int i = 0; i < n; i++) {
            String answer = guarded(echo, "whereami", "");
            answers.merge(answer, 1, Integer::sum);
            errors += answer.startsWith("!") ? 1 : 0;
            updates += ClientGroupManager.receivedIORUpdate ? 1 : 0;
        }
        String text =
            "calls=" + n + " errors=" + errors + " updates=" + updates;
        for (Map.Entry<String, Integer> a : answers.entrySet()) {
            text += " " + a.getKey() + "=" + a.getValue();
        }
        return text;
    }

    private static String execute(interop.Echo echo, String command,
                                  String argument) throws interop.Refused {
        switch (command) {
            case "whereami":
                return echo.whereAmI();
            case "count":
                return count(echo, Integer.parseInt(argument));
            case "next":
                return "" + echo.next();
            case "slow":
                echo.slow(Integer.parseInt(argument));
                return "done";
            case "say":
                return echo.say(argument);
            case "fail":
                echo.fail(argument);
                return "no exception";
            case "ping":
                echo.ping();
                return "sent";
            case "isa":
                return echo._is_a(interop.EchoHelper.id()) ? "yes" : "no";
            default:
                return "no command " + command;
        }
    }

    private static String guarded(interop.Echo echo, String command,
                                  String argument) {
        try {
            return execute(echo, command, argument);
        } catch (interop.Refused e) {
            return "!Refused:" + e.why;
        } catch (SystemException e) {
            return "!" + e.getClass().getSimpleName() + ":"
                + Integer.toHexString(e.minor) + "/"
                + COMPLETIONS[e.completed.value()];
        } catch (RuntimeException | Error e) {
            return "!" + e.getClass().getSimpleName();
        }
    }

    private static Properties properties(Options options) {
        Properties p = new Properties();
        p.put("org.omg.CORBA.ORBClass", "com.sun.corba.ee.impl.orb.ORBImpl");
        p.put("org.omg.CORBA.ORBSingletonClass",
              "com.sun.corba.ee.impl.orb.ORBSingleton");
        p.put(ORBConstants.REGISTER_MBEANS, "false");
        p.put(ORBConstants.GET_SERVICE_CONTEXT_RETURNS_NULL, "true");
        p.put(ORBConstants.RFM_PROPERTY, "");
        p.put(ORBConstants.USER_CONFIGURATOR_PREFIX
              + "com.sun.corba.ee.impl.folb.ClientGroupManager", "");
        p.put(ORBConstants.USER_CONFIGURATOR_PREFIX + "GfClient", "");
        p.put(ORBConstants.SOCKET_FACTORY_CLASS_PROPERTY,
              "GfClient$CountingFactory");
        p.put(ORBConstants.TRANSPORT_TCP_CONNECT_TIMEOUTS_PROPERTY,
              options.get("timeouts", "250:5000:100"));
        return p;
    }

    public static void main(String[] arguments) throws Exception {
        Options options = new Options(arguments);
        String reference = arguments[0];
        if (reference.startsWith("@")) {
            reference = new String(
                Files.readAllBytes(Paths.get(reference.substring(1)))).trim();
        }
        org.omg.CORBA.ORB orb =
            org.omg.CORBA.ORB.init(new String[0], properties(options));
        interop.Echo echo = interop.EchoHelper.unchecked_narrow(
            orb.string_to_object(reference));
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in));
        String wire = "";
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.trim().split(" ", 2);
            long begin = System.nanoTime();
            String answer;
            if (words[0].equals("wire")) {
                answer = wire;
            } else {
                connects = 0;
                answer = guarded(echo, words[0],
                                 words.length > 1 ? words[1] : "");
                wire = "label=" + ClientGroupManager.sentMemberShipLabel
                    + " update=" + ClientGroupManager.receivedIORUpdate
                    + " connects=" + connects;
            }
            System.out.println(
                (System.nanoTime() - begin) / 1000 + " " + answer);
            System.out.flush();
        }
        System.exit(0);
    }
}
