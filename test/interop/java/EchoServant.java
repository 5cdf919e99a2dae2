// SPDX-License-Identifier: LGPL-2.1-or-later
// The servant of the Java servers, and what their control ports do with it.
import java.util.concurrent.atomic.AtomicInteger;
import org.omg.CORBA.COMM_FAILURE;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.NO_RESOURCES;
import org.omg.CORBA.OBJECT_NOT_EXIST;
import org.omg.CORBA.OBJ_ADAPTER;
import org.omg.CORBA.TRANSIENT;

final class EchoServant extends interop.EchoPOA {
    private static final AtomicInteger calls = new AtomicInteger();
    private static final AtomicInteger counter = new AtomicInteger();
    private static final AtomicInteger busy = new AtomicInteger();
    private static final AtomicInteger left = new AtomicInteger();
    private static volatile String fault = "off";
    static String name;
    static org.omg.CORBA.ORB orb;

    private static volatile interop.Echo nested;

    // fault KIND [N]: what all operations raise, the next N of them only
    // nest REFERENCE|off: all operations call that object first, and let what
    // it raises out
    // calls: how many came; busy: how many are in slow() now
    static String control(String command, String argument) {
        switch (command) {
            case "fault": {
                String[] words = argument.split(" ");
                left.set(words.length > 1 ? Integer.parseInt(words[1])
                                          : Integer.MAX_VALUE);
                fault = words[0];
                return "ok";
            }
            case "nest":
                nested = argument.equals("off")
                    ? null
                    : interop.EchoHelper.unchecked_narrow(
                        orb.string_to_object(argument));
                return "ok";
            case "calls":
                return "" + calls.get();
            case "busy":
                return "" + busy.get();
            default:
                return "unknown command";
        }
    }

    private static void raise(String kind) {
        CompletionStatus no = CompletionStatus.COMPLETED_NO;
        CompletionStatus maybe = CompletionStatus.COMPLETED_MAYBE;
        switch (kind) {
            case "transient": throw new TRANSIENT("peer", 1, no);
            case "transient-maybe": throw new TRANSIENT("peer", 1, maybe);
            case "commfail": throw new COMM_FAILURE("peer", 1, no);
            case "commfail-maybe": throw new COMM_FAILURE("peer", 1, maybe);
            case "objnotexist": throw new OBJECT_NOT_EXIST("peer", 1, no);
            case "nores": throw new NO_RESOURCES("peer", 1, no);
            case "objadapter": throw new OBJ_ADAPTER("peer", 1, no);
            default: return;
        }
    }

    private static void hit() {
        calls.incrementAndGet();
        interop.Echo other = nested;
        if (other != null) {
            other.whereAmI();
        }
        if (fault.equals("off")) {
            return;
        }
        if (left.getAndDecrement() > 0) {
            raise(fault);
        } else {
            fault = "off";
        }
    }

    @Override
    public String whereAmI() {
        hit();
        return name;
    }

    @Override
    public int next() {
        hit();
        return counter.incrementAndGet();
    }

    @Override
    public void slow(int ms) {
        hit();
        busy.incrementAndGet();
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        busy.decrementAndGet();
    }

    @Override
    public String say(String s) {
        hit();
        return name + ":" + s;
    }

    @Override
    public void fail(String kind) throws interop.Refused {
        hit();
        raise(kind);
        throw new interop.Refused(name + ":" + kind);
    }

    @Override
    public void ping() {
        hit();
    }
}
