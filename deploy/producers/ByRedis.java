// Registers a device and submits a campaign through Redis: java ByRedis.java ID USER TOKEN
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.Socket;

class ByRedis {
    static void lpush(Socket server, String name, String json) throws IOException {
        var key = "{" + System.getenv().getOrDefault("CARILLON_NAMESPACE", "carillon") + "}:" + name;
        var request = new StringBuilder("*3\r\n");
        for (var word : new String[] {"LPUSH", key, json})
            request.append("$" + word.getBytes(UTF_8).length + "\r\n" + word + "\r\n");
        server.getOutputStream().write(request.toString().getBytes(UTF_8));
        var reply = new byte[1000];
        var count = server.getInputStream().read(reply);
        if (count < 1 || reply[0] != ':') throw new IOException("Redis: " + new String(reply, 0, Math.max(count, 0), UTF_8));
    }

    // The JDK has no JSON writer. If you have a JSON library, let it write the objects.
    static String quoted(String text) { return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; }

    public static void main(String[] words) throws IOException {
        String id = quoted(words[0]), user = quoted(words[1]), token = quoted(words[2]);
        var settings = System.getenv();
        try (var server = new Socket(settings.getOrDefault("REDIS_HOST", "127.0.0.1"),
                Integer.parseInt(settings.getOrDefault("REDIS_PORT", "6379")))) {
            lpush(server, "registrations", """
                {"op": "register", "user": %s, "token": %s, "app": "news", "locale": "en"}""".formatted(user, token));
            lpush(server, "campaigns", """
                {"id": %s, "app": "news", "audience": {"users": [%s]},
                 "message": {"body": "Hello from Java"}}""".formatted(id, user));
        }
    }
}
