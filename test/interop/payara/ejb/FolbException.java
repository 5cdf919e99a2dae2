// SPDX-License-Identifier: LGPL-2.1-or-later
package folb;

public class FolbException extends Exception {
  public FolbException(String why) {
    super(why);
  }
}
