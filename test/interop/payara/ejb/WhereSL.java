// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

import @EE@.ejb.*;

@Stateless(name = "WhereSL", mappedName = "folb/WhereSL")
@Remote(Where.class)
@RemoteHome(WhereHome.class)
@TransactionAttribute(TransactionAttributeType.SUPPORTS)
public class WhereSL extends Impl implements Where {}
