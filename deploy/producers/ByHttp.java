// Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… java ByHttp.java ID USER
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

class ByHttp {
    // The JDK has no JSON writer. If you have a JSON library, let it write the object.
    static String quoted(String text) { return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; }

    public static void main(String[] words) throws Exception {
        var settings = System.getenv();
        var job = """
            {"id": %s, "app": "news", "audience": {"users": [%s]},
             "message": {"body": "Hello from Java"}}""".formatted(quoted(words[0]), quoted(words[1]));
        var url = settings.getOrDefault("CARILLON_URL", "http://127.0.0.1:8080") + "/api/v1/campaigns";
        var request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(10))
            .header("Authorization", "Bearer " + settings.get("CARILLON_TOKEN")).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(job)).build();
        // HTTP/1.1: without TLS, client and server can't negotiate HTTP/2.
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        var answer = client.send(request, BodyHandlers.ofString());
        // A refusal has a body by RFC 9457 with the error and a hint.
        System.out.println(answer.statusCode() + " " + answer.body());
        if (answer.statusCode() >= 300) System.exit(1);
    }
}
