// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

import @EE@.ejb.*;

@Stateful(name = "WhereSF", mappedName = "folb/WhereSF")
@Remote(Where.class)
@RemoteHome(WhereHome.class)
@TransactionAttribute(TransactionAttributeType.SUPPORTS)
public class WhereSF extends Impl implements Where {
  @Init
  public void create() {}
}
