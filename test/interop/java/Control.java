// SPDX-License-Identifier: LGPL-2.1-or-later
// One line of command, one line of answer, on a port of loopback.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

final class Control {
    interface Handler {
        String execute(String command, String argument) throws Exception;
    }

    static void serve(int port, Handler handler) throws IOException {
        ServerSocket listener =
            new ServerSocket(port, 16, InetAddress.getByName("127.0.0.1"));
        background(() -> {
            while (true) {
                Socket socket = listener.accept();
                background(() -> talk(socket, handler));
            }
        });
    }

    private interface Body {
        void run() throws IOException;
    }

    private static void background(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (IOException e) {
                return; // the peer has gone
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void talk(Socket socket, Handler handler)
            throws IOException {
        try (Socket s = socket) {
            BufferedReader in = new BufferedReader(
                new InputStreamReader(s.getInputStream()));
            PrintWriter out = new PrintWriter(s.getOutputStream(), true);
            for (String line; (line = in.readLine()) != null;) {
                String[] words = line.trim().split(" ", 2);
                String answer;
                try {
                    answer = handler.execute(
                        words[0], words.length > 1 ? words[1].trim() : "");
                } catch (Throwable e) {
                    answer = "error " + e;
                }
                out.println(answer);
            }
        }
    }

    private Control() {
    }
}
