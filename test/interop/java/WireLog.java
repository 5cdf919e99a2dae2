// SPDX-License-Identifier: LGPL-2.1-or-later
// What the requests and replies of a server carried of the FOLB protocol,
// by portable interceptors, which every ORB has.
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.omg.CORBA.LocalObject;
import org.omg.CORBA.SystemException;
import org.omg.IOP.ServiceContext;
import org.omg.PortableInterceptor.ORBInitInfo;
import org.omg.PortableInterceptor.ORBInitInfoPackage.DuplicateName;
import org.omg.PortableInterceptor.ORBInitializer;
import org.omg.PortableInterceptor.ServerRequestInfo;
import org.omg.PortableInterceptor.ServerRequestInterceptor;

public final class WireLog extends LocalObject
        implements ORBInitializer, ServerRequestInterceptor {
    private static final int LABEL = 0x53554E01;
    private static final int UPDATE = 0x53554E02;
    private static final int KEPT = 64;

    private static final class Entry {
        String operation;
        String label;
        boolean update;
    }

    private static final List<Entry> log = new ArrayList<>();
    private static long requests;
    private static long labels;
    private static long updates;

    // wire: "operation/label/update" of the last requests since it was asked
    // for, own or other or none, yes or no
    // tally: sums of all since it was asked for
    static synchronized String control(String command, String own) {
        StringBuilder text = new StringBuilder();
        if (command.equals("wire")) {
            for (Entry e : log) {
                String label = e.label == null ? "none"
                    : e.label.equals(own) ? "own" : "other";
                text.append(text.length() == 0 ? "" : " ")
                    .append(e.operation).append('/').append(label).append('/')
                    .append(e.update ? "yes" : "no");
            }
            log.clear();
            return text.length() == 0 ? "nothing" : text.toString();
        }
        text.append("requests=").append(requests)
            .append(" labels=").append(labels)
            .append(" updates=").append(updates);
        requests = 0;
        labels = 0;
        updates = 0;
        return text.toString();
    }

    private static void record(ServerRequestInfo info) {
        Entry e = new Entry();
        e.operation = info.operation();
        byte[] label = data(info, LABEL);
        if (label != null) {
            e.label = new String(label, StandardCharsets.ISO_8859_1);
        }
        e.update = data(info, UPDATE) != null;
        synchronized (WireLog.class) {
            requests++;
            labels += e.label != null ? 1 : 0;
            updates += e.update ? 1 : 0;
            if (log.size() == KEPT) {
                log.remove(0);
            }
            log.add(e);
        }
    }

    // null when there is none, which some ORBs raise.
    private static byte[] data(ServerRequestInfo info, int id) {
        try {
            ServiceContext context = id == LABEL
                ? info.get_request_service_context(id)
                : info.get_reply_service_context(id);
            return context == null ? null : context.context_data;
        } catch (SystemException e) {
            return null;
        }
    }

    @Override
    public void pre_init(ORBInitInfo info) {
        try {
            info.add_server_request_interceptor(this);
        } catch (DuplicateName e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void post_init(ORBInitInfo info) {
    }

    @Override
    public String name() {
        return "WireLog";
    }

    @Override
    public void destroy() {
    }

    @Override
    public void receive_request_service_contexts(ServerRequestInfo info) {
    }

    @Override
    public void receive_request(ServerRequestInfo info) {
    }

    @Override
    public void send_reply(ServerRequestInfo info) {
        record(info);
    }

    @Override
    public void send_exception(ServerRequestInfo info) {
        record(info);
    }

    @Override
    public void send_other(ServerRequestInfo info) {
        record(info);
    }
}
