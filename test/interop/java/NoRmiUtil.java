// SPDX-License-Identifier: LGPL-2.1-or-later
// For Yoko, whose own RMI delegate opens two listeners on all addresses and
// needs further libraries; nothing here uses RMI.
import java.io.Serializable;
import java.rmi.Remote;
import java.rmi.RemoteException;
import javax.rmi.CORBA.Stub;
import javax.rmi.CORBA.Tie;
import javax.rmi.CORBA.UtilDelegate;
import javax.rmi.CORBA.ValueHandler;
import org.omg.CORBA.ORB;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.portable.InputStream;
import org.omg.CORBA.portable.OutputStream;
import org.omg.SendingContext.RunTime;

public final class NoRmiUtil implements UtilDelegate, ValueHandler {
    @Override
    public Object copyObject(Object o, ORB orb) {
        return o;
    }

    @Override
    public Object[] copyObjects(Object[] o, ORB orb) {
        return o;
    }

    @Override
    public ValueHandler createValueHandler() {
        return this;
    }

    @Override
    public String getCodebase(Class c) {
        return null;
    }

    @Override
    public Tie getTie(Remote r) {
        return null;
    }

    @Override
    public boolean isLocal(Stub s) {
        return false;
    }

    @Override
    public Class loadClass(String name, String codebase, ClassLoader loader)
            throws ClassNotFoundException {
        return Class.forName(name);
    }

    @Override
    public RemoteException mapSystemException(SystemException e) {
        return new RemoteException("", e);
    }

    @Override
    public Object readAny(InputStream in) {
        return null;
    }

    @Override
    public void registerTarget(Tie tie, Remote r) {
    }

    @Override
    public void unexportObject(Remote r) {
    }

    @Override
    public RemoteException wrapException(Throwable t) {
        return new RemoteException("", t);
    }

    @Override
    public void writeAbstractObject(OutputStream out, Object o) {
    }

    @Override
    public void writeAny(OutputStream out, Object o) {
    }

    @Override
    public void writeRemoteObject(OutputStream out, Object o) {
    }

    @Override
    public String getRMIRepositoryID(Class c) {
        return null;
    }

    @Override
    public RunTime getRunTimeCodeBase() {
        return null;
    }

    @Override
    public boolean isCustomMarshaled(Class c) {
        return false;
    }

    @Override
    public Serializable readValue(InputStream in, int offset, Class c,
                                  String id, RunTime sender) {
        return null;
    }

    @Override
    public Serializable writeReplace(Serializable s) {
        return s;
    }

    @Override
    public void writeValue(OutputStream out, Serializable s) {
    }
}
