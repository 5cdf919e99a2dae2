// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

import @EE@.ejb.CreateException;
import @EE@.ejb.EJBHome;
import java.rmi.RemoteException;

public interface WhereHome extends EJBHome {
  WhereObject create() throws CreateException, RemoteException;
}
