// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

import @EE@.ejb.EJBObject;
import java.rmi.RemoteException;

// The same as an EJB 2 component interface.
public interface WhereObject extends EJBObject {
  String whereAmI() throws RemoteException;
  int next() throws RemoteException;
  void slow(int milliseconds) throws RemoteException;
  String echo(String text) throws RemoteException;
  void fail(String why) throws FolbException, RemoteException;
  void sysfail() throws RemoteException;
  String admin(String command) throws RemoteException;
}
