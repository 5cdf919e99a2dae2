// SPDX-License-Identifier: LGPL-2.1-or-later
// Arguments "name=value" or "name", and what all programs here share.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;

final class Options {
    final Map<String, String> all = new LinkedHashMap<>();

    Options(String[] arguments) {
        for (String a : arguments) {
            int eq = a.indexOf('=');
            all.put(eq < 0 ? a : a.substring(0, eq),
                    eq < 0 ? "" : a.substring(eq + 1));
        }
    }

    boolean has(String name) {
        return all.containsKey(name);
    }

    String get(String name, String otherwise) {
        return all.getOrDefault(name, otherwise);
    }

    String get(String name) {
        String value = all.get(name);
        if (value == null) {
            throw new IllegalArgumentException("no argument " + name + "=");
        }
        return value;
    }

    // Never seen half written.
    static void write(String file, String text) throws IOException {
        Path part = Paths.get(file + ".part");
        Files.write(part, text.getBytes());
        Files.move(part, Paths.get(file), StandardCopyOption.REPLACE_EXISTING,
                   StandardCopyOption.ATOMIC_MOVE);
    }

    // The control port has answered when the process goes.
    static void later(Runnable action) {
        new Thread(() -> {
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            action.run();
        }).start();
    }
}
