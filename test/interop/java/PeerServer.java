// SPDX-License-Identifier: LGPL-2.1-or-later
// A server that knows only the standard API, for any ORB:
//   PeerServer name=NAME ior=PREFIX control=PORT prop:KEY=VALUE...
// Writes PREFIX.persistent.ior (POA Echo-EJB, id OID1), PREFIX.transient.ior
// and PREFIX.rootpoa.ior.
import java.util.Map;
import java.util.Properties;
import org.omg.CORBA.ORB;
import org.omg.CORBA.Policy;
import org.omg.PortableServer.IdAssignmentPolicyValue;
import org.omg.PortableServer.LifespanPolicyValue;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

public final class PeerServer {
    private static ORB orb;
    private static POA root;
    private static POA persistent;

    // discard, hold, activate, deactivate: of the POA manager; the adapter and
    // the object of the persistent reference can be destroyed
    // shutdown: orderly; halt: at once; wire, tally: WireLog
    private static String control(String command, String argument)
            throws Exception {
        switch (command) {
            case "discard":
                root.the_POAManager().discard_requests(false);
                return "ok";
            case "hold":
                root.the_POAManager().hold_requests(false);
                return "ok";
            case "activate":
                root.the_POAManager().activate();
                return "ok";
            case "deactivate":
                root.the_POAManager().deactivate(false, false);
                return "ok";
            case "destroy-object":
                persistent.deactivate_object("OID1".getBytes());
                return "ok";
            case "destroy-adapter":
                persistent.destroy(true, true);
                return "ok";
            case "shutdown":
                Options.later(() -> {
                    orb.shutdown(true);
                    orb.destroy();
                    System.exit(0);
                });
                return "ok";
            case "halt":
                Options.later(() -> Runtime.getRuntime().halt(3));
                return "ok";
            case "wire":
            case "tally":
                return WireLog.control(command, null);
            default:
                return EchoServant.control(command, argument);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Options options = new Options(arguments);
        Properties properties = new Properties();
        for (Map.Entry<String, String> o : options.all.entrySet()) {
            if (o.getKey().startsWith("prop:")) {
                properties.put(o.getKey().substring(5), o.getValue());
            }
        }
        properties.put(
            "org.omg.PortableInterceptor.ORBInitializerClass.WireLog", "");
        String name = options.get("name");
        String prefix = options.get("ior");
        EchoServant.name = name;

        orb = ORB.init(new String[0], properties);
        EchoServant.orb = orb;
        root = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        persistent = root.create_POA(
            "Echo-EJB", root.the_POAManager(), new Policy[] {
                root.create_lifespan_policy(LifespanPolicyValue.PERSISTENT),
                root.create_id_assignment_policy(
                    IdAssignmentPolicyValue.USER_ID)});
        byte[] id = "OID1".getBytes();
        persistent.activate_object_with_id(id, new EchoServant());
        POA plain =
            root.create_POA("Plain", root.the_POAManager(), new Policy[0]);
        byte[] plainId = plain.activate_object(new EchoServant());
        byte[] rootId = root.activate_object(new EchoServant());
        root.the_POAManager().activate();

        Options.write(prefix + ".transient.ior",
                      orb.object_to_string(plain.id_to_reference(plainId)));
        Options.write(prefix + ".rootpoa.ior",
                      orb.object_to_string(root.id_to_reference(rootId)));
        Options.write(prefix + ".persistent.ior",
                      orb.object_to_string(persistent.id_to_reference(id)));
        Control.serve(Integer.parseInt(options.get("control")),
                      PeerServer::control);
        System.out.println(name + " ready");
        System.out.flush();
        orb.run();
    }

    private PeerServer() {
    }
}
