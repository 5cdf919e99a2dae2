// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

// The EJB 3 business interface.
public interface Where {
  String whereAmI();
  int next();
  void slow(int milliseconds);
  String echo(String text);
  void fail(String why) throws FolbException;
  void sysfail();
  String admin(String command);
}
