// SPDX-License-Identifier: LGPL-2.1-or-later
// The membership of a GfServer, as an application server would report it.
import com.sun.corba.ee.impl.folb.GroupInfoServiceBase;
import com.sun.corba.ee.impl.folb.CSIv2SSLTaggedComponentHandler;
import com.sun.corba.ee.spi.folb.ClusterInstanceInfo;
import com.sun.corba.ee.spi.folb.SocketInfo;
import com.sun.corba.ee.spi.ior.IOR;
import com.sun.corba.ee.spi.misc.ORBConstants;
import com.sun.corba.ee.spi.orb.ORB;
import java.util.ArrayList;
import java.util.List;
import org.omg.CORBA.LocalObject;
import org.omg.CORBA.ORBPackage.InvalidName;
import org.omg.IOP.TaggedComponent;
import org.omg.PortableInterceptor.IORInfo;

final class GfCluster {
    static final String NO_LABEL = "Echo-NoLabel";

    private static volatile List<ClusterInstanceInfo> members =
        new ArrayList<>();
    private static final Service service = new Service();
    private static boolean announceEverywhere;

    private static final class Service extends GroupInfoServiceBase {
        @Override
        public List<ClusterInstanceInfo> internalClusterInstanceInfo(
                List<String> endpoints) {
            return new ArrayList<>(members);
        }

        @Override
        public boolean shouldAddMembershipLabel(String[] adapter) {
            return !adapter[adapter.length - 1].equals(NO_LABEL);
        }

        @Override
        public boolean shouldAddAddressesToNonReferenceFactory(
                String[] adapter) {
            return announceEverywhere;
        }
    }

    // Without one the ORB waits for it at start, for a minute.
    static final class NoSsl extends LocalObject
            implements CSIv2SSLTaggedComponentHandler {
        @Override
        public TaggedComponent insert(IORInfo info,
                                      List<ClusterInstanceInfo> all) {
            return null;
        }

        @Override
        public List<com.sun.corba.ee.spi.transport.SocketInfo> extract(
                IOR ior) {
            return null;
        }
    }

    static void register(ORB orb, boolean everywhere) {
        announceEverywhere = everywhere;
        try {
            orb.register_initial_reference(
                ORBConstants.FOLB_SERVER_GROUP_INFO_SERVICE, service);
            orb.register_initial_reference(
                ORBConstants.CSI_V2_SSL_TAGGED_COMPONENT_HANDLER, new NoSsl());
        } catch (InvalidName e) {
            throw new IllegalStateException(e);
        }
    }

    private static ClusterInstanceInfo member(String entry) {
        String[] parts = entry.split("=");
        List<SocketInfo> endpoints = new ArrayList<>();
        if (parts.length > 2) {
            for (String e : parts[2].split("\\+")) {
                int at = e.indexOf('@');
                int colon = e.lastIndexOf(':');
                endpoints.add(new SocketInfo(
                    e.substring(0, at), e.substring(at + 1, colon),
                    Integer.parseInt(e.substring(colon + 1))));
            }
        }
        return new ClusterInstanceInfo(
            parts[0], Integer.parseInt(parts[1]), endpoints);
    }

    static void set(String list) {
        List<ClusterInstanceInfo> all = new ArrayList<>();
        for (String entry : list.split(",")) {
            if (!entry.isEmpty()) {
                all.add(member(entry));
            }
        }
        members = all;
    }

    static String control(String command, String argument) {
        List<ClusterInstanceInfo> all = new ArrayList<>(members);
        switch (command) {
            case "set":
                set(argument);
                break;
            case "add":
                all.add(member(argument));
                members = all;
                break;
            case "remove":
                all.removeIf(m -> m.name().equals(argument));
                members = all;
                break;
            case "weight": {
                String[] words = argument.split(" ");
                all.replaceAll(m -> m.name().equals(words[0])
                    ? new ClusterInstanceInfo(
                          m.name(), Integer.parseInt(words[1]), m.endpoints())
                    : m);
                members = all;
                break;
            }
            default:
                break; // the same members once more
        }
        service.notifyObservers();
        return "ok";
    }

    private GfCluster() {
    }
}
