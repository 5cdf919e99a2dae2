// SPDX-License-Identifier: LGPL-2.1-or-later
// An instance of a cluster on the GlassFish ORB, without GlassFish:
//   GfServer name=NAME port=PORT control=PORT iors=DIRECTORY members=LIST
//            [hidden=PORT] [prlb] [poaaddrs]
// LIST: name=weight=type@host:port+type@host:port,...
// hidden: it listens there, while its references say PORT.  prlb: references
// ask for load balancing per request.  poaaddrs: plain POAs announce the
// members as well.  Writes DIRECTORY/NAME.KIND.ior for the kinds rfm (label
// and members), nolabel (members), persistent and transient (plain POAs).
import com.sun.corba.ee.impl.folb.InitialGroupInfoService;
import com.sun.corba.ee.impl.naming.cosnaming.TransientNameService;
import com.sun.corba.ee.impl.transport.DefaultSocketFactoryImpl;
import com.sun.corba.ee.spi.extension.LoadBalancingPolicy;
import com.sun.corba.ee.spi.misc.ORBConstants;
import com.sun.corba.ee.spi.oa.rfm.ReferenceFactory;
import com.sun.corba.ee.spi.oa.rfm.ReferenceFactoryManager;
import com.sun.corba.ee.spi.orb.DataCollector;
import com.sun.corba.ee.spi.orb.ORB;
import com.sun.corba.ee.spi.orb.ORBConfigurator;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.omg.CORBA.LocalObject;
import org.omg.CORBA.Policy;
import org.omg.CosNaming.NameComponent;
import org.omg.CosNaming.NamingContext;
import org.omg.CosNaming.NamingContextHelper;
import org.omg.PortableServer.IdAssignmentPolicyValue;
import org.omg.PortableServer.LifespanPolicyValue;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;
import org.omg.PortableServer.Servant;
import org.omg.PortableServer.ServantLocator;
import org.omg.PortableServer.ServantLocatorPackage.CookieHolder;

public final class GfServer implements ORBConfigurator {
    private static Options options;
    private static String name;
    private static ORB orb;
    private static ReferenceFactoryManager manager;
    private static ReferenceFactory factory;
    private static POA plain;

    private static final class Locator extends LocalObject
            implements ServantLocator {
        private final Servant servant = new EchoServant();

        @Override
        public Servant preinvoke(byte[] id, POA poa, String operation,
                                 CookieHolder cookie) {
            return servant;
        }

        @Override
        public void postinvoke(byte[] id, POA poa, String operation,
                               Object cookie, Servant s) {
        }
    }

    // Binds another port than the one the references get.
    public static final class HiddenPort extends DefaultSocketFactoryImpl {
        @Override
        public ServerSocket createServerSocket(
                String type, InetSocketAddress address) throws IOException {
            return super.createServerSocket(type, new InetSocketAddress(
                address.getAddress(),
                Integer.parseInt(options.get("hidden"))));
        }
    }

    // The ORB makes one of these, by its name.
    public GfServer() {
    }

    @Override
    public void configure(DataCollector collector, ORB configured) {
        GfCluster.register(configured, options.has("poaaddrs"));
    }

    private static org.omg.CORBA.Object reference(ReferenceFactory f) {
        return f.createReference("OID1".getBytes());
    }

    // Of the references made now; its component is raw octets, after its id
    // and its length.
    private static String label() {
        String ior = orb.object_to_string(reference(factory));
        int at = ior.indexOf("53554e04");
        if (at < 0) {
            return null;
        }
        int length = Integer.parseInt(ior.substring(at + 8, at + 16), 16);
        byte[] octets = new byte[length];
        for (int i = 0; i < length; i++) {
            int digit = at + 16 + 2 * i;
            octets[i] = (byte) Integer.parseInt(
                ior.substring(digit, digit + 2), 16);
        }
        return new String(octets, StandardCharsets.ISO_8859_1);
    }

    // set LIST, add MEMBER, remove NAME, weight NAME N, relabel: membership
    // ior, label: of a reference as it is today
    // suspend, resume: of the reference factories; discard, hold, activate,
    // deactivate: of the plain POAs, of which the persistent one and its object
    // can be destroyed, as the factory of the references can; shutdown:
    // orderly; halt: at once
    private static String control(String command, String argument)
            throws Exception {
        switch (command) {
            case "ior":
                return orb.object_to_string(reference(factory));
            case "label":
                return "" + label();
            case "suspend":
                manager.suspend();
                return "ok";
            case "resume":
                manager.resume();
                return "ok";
            case "discard":
                plain.the_POAManager().discard_requests(false);
                return "ok";
            case "hold":
                plain.the_POAManager().hold_requests(false);
                return "ok";
            case "activate":
                plain.the_POAManager().activate();
                return "ok";
            case "deactivate":
                plain.the_POAManager().deactivate(false, false);
                return "ok";
            case "destroy-object":
                plain.deactivate_object("OIDP".getBytes());
                return "ok";
            case "destroy-factory":
                factory.destroy();
                return "ok";
            case "destroy-adapter":
                plain.destroy(true, true);
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
                return WireLog.control(command, label());
            case "set":
            case "add":
            case "remove":
            case "weight":
            case "relabel":
                return GfCluster.control(command, argument);
            default:
                return EchoServant.control(command, argument);
        }
    }

    private static Properties properties() {
        Properties p = new Properties();
        p.put("org.omg.CORBA.ORBClass", "com.sun.corba.ee.impl.orb.ORBImpl");
        p.put("org.omg.CORBA.ORBSingletonClass",
              "com.sun.corba.ee.impl.orb.ORBSingleton");
        p.put("org.omg.PortableInterceptor.ORBInitializerClass.WireLog", "");
        p.put(ORBConstants.ORB_SERVER_ID_PROPERTY, "100");
        p.put(ORBConstants.ORB_ID_PROPERTY, "S1AS-ORB");
        p.put(ORBConstants.PERSISTENT_SERVER_PORT_PROPERTY,
              options.get("port"));
        p.put(ORBConstants.SERVER_HOST_PROPERTY, "127.0.0.1");
        // Of its own calls: by default it tries for a minute.
        p.put(ORBConstants.TRANSPORT_TCP_CONNECT_TIMEOUTS_PROPERTY,
              "100:500:100:500");
        p.put(ORBConstants.WAIT_FOR_RESPONSE_TIMEOUT, "3000");
        p.put(ORBConstants.RFM_PROPERTY, "");
        p.put(ORBConstants.APPSERVER_MODE, "true");
        p.put(ORBConstants.REGISTER_MBEANS, "false");
        p.put(ORBConstants.GET_SERVICE_CONTEXT_RETURNS_NULL, "true");
        p.put(ORBConstants.USER_CONFIGURATOR_PREFIX
              + "com.sun.corba.ee.impl.folb.ServerGroupManager", "");
        p.put(ORBConstants.USER_CONFIGURATOR_PREFIX + "GfServer", "");
        if (options.has("hidden")) {
            p.put(ORBConstants.SOCKET_FACTORY_CLASS_PROPERTY,
                  "GfServer$HiddenPort");
        }
        return p;
    }

    private static void publish(String kind, org.omg.CORBA.Object reference)
            throws IOException {
        Options.write(options.get("iors") + "/" + name + "." + kind + ".ior",
                      orb.object_to_string(reference));
    }

    public static void main(String[] arguments) throws Exception {
        options = new Options(arguments);
        name = options.get("name");
        EchoServant.name = name;
        GfCluster.set(options.get("members"));

        orb = (ORB) org.omg.CORBA.ORB.init(new String[0], properties());
        EchoServant.orb = orb;
        POA root = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        manager = (ReferenceFactoryManager) orb.resolve_initial_references(
            ORBConstants.REFERENCE_FACTORY_MANAGER);
        manager.activate();
        new TransientNameService(orb);
        List<Policy> policies = new ArrayList<>();
        if (options.has("prlb")) {
            policies.add(new LoadBalancingPolicy(1));
        }
        String id = interop.EchoHelper.id();
        factory = manager.create("Echo-EJB", id, policies, new Locator());
        ReferenceFactory noLabel = manager.create(
            GfCluster.NO_LABEL, id, policies, new Locator());

        plain = root.create_POA("PlainPersistent", null, new Policy[] {
            root.create_lifespan_policy(LifespanPolicyValue.PERSISTENT),
            root.create_id_assignment_policy(
                IdAssignmentPolicyValue.USER_ID)});
        plain.activate_object_with_id("OIDP".getBytes(), new EchoServant());
        plain.the_POAManager().activate();
        POA passing = root.create_POA(
            "PlainTransient", plain.the_POAManager(), new Policy[0]);
        byte[] passingId = passing.activate_object(new EchoServant());

        NamingContext names = NamingContextHelper.narrow(
            orb.resolve_initial_references("NameService"));
        names.rebind(new NameComponent[] {new NameComponent("Echo", "")},
                     reference(factory));
        new InitialGroupInfoService(orb);
        publish("nolabel", reference(noLabel));
        publish("persistent", plain.id_to_reference("OIDP".getBytes()));
        publish("transient", passing.id_to_reference(passingId));
        publish("rfm", reference(factory));
        Control.serve(Integer.parseInt(options.get("control")),
                      GfServer::control);
        System.out.println(name + " ready");
        System.out.flush();
        orb.run();
    }
}
