import Foundation
import TestKit
import TestSupport
import Testing

/// The commands of README.md and of the guide's first page, run without changes, as a new user types them.
@Suite(
  .enabled(if: Deploy.has("redis-cli") && Deploy.has("curl"), "no redis-cli or curl"), .timeLimit(.minutes(6)))
struct ReadmeTests {
  /// Returns the `sh` and `python` blocks of sections as one shell script.
  private func script(_ page: String, _ sections: [String]) throws -> String {
    let page = try GuidePage(page)
    let blocks = try sections.flatMap { try page.blocks(ofSection: $0) }.filter { ["sh", "python"].contains($0.kind) }
    expect(blocks.count >= 3)
    return blocks.map { $0.kind == "python" ? "python3 - <<'PYTHON'\n\($0.text)\nPYTHON" : $0.text }
      .joined(separator: "\n")
  }

  /// Runs sections in their own folder. Commands with a terminal of their own run in the background and end with the
  /// script. Programs use the Redis of this test, free ports, and the simulator instead of Apple. Nothing else is
  /// changed.
  ///
  /// - Parameter earlier: pages with sections that run before in the same folder. Their background commands then end.
  private func run(
    _ page: String, _ sections: String..., startsSimulator: Bool = false,
    after earlier: [(page: String, sections: [String])] = []
  ) async throws -> String {
    let ports = (push: try FreePort.find(), control: try FreePort.find(), page: try FreePort.find())
    let (fcm, token) = (try FreePort.find(), try FreePort.find())
    let (folder, server) = (try ScratchFolder("readme"), try await RedisServer.start())
    let simulated = try await CarillonCommand.run(["simulate", "--init", folder.path("apns")])
    expect(simulated.exit, is: .status(0))
    let key = "AuthKey_SIMULATOR1.p8"
    try FileManager.default.copyItem(atPath: folder.path("apns/\(key)"), toPath: folder.path(key))
    let apns = "https://127.0.0.1:\(ports.push)"
    // The script writes this file: if the test process wrote it, one of its child processes may still have it open
    // (ETXTBSY).
    _ = try folder.write(
      "carillon.sh",
      """
      #!/usr/bin/env bash
      export CARILLON_REDIS_URL=\(server.url) CARILLON_APPS_NEWS_APNS_ENDPOINT=\(apns)
      if [[ $CARILLON_CONFIG == */sim/* ]]; then
        export CARILLON_APPS_SHOP_APNS_ENDPOINT=\(apns) CARILLON_APPS_SHOP_FCM_ENDPOINT=https://127.0.0.1:\(fcm)
      fi
      case "$1 $2" in
        "simulate --directory")
          sed -i 's/:2200/:\(token)/' "$3/service-account.json"
          set -- "$@" --port \(ports.push) --control-port \(ports.control) --fcm-port \(fcm) --token-port \(token) ;;
        "admin ") export CARILLON_ADMIN_LISTEN=127.0.0.1:\(ports.page) ;;
        "init "*) unset CARILLON_REDIS_URL; set -- "$@" --redis \(server.url) ;;
      esac
      [[ $CARILLON_CONFIG == */sim/* ]] || export CARILLON_APPS_NEWS_APNS_TRUST_ROOTS=\(folder.path("apns/ca.pem"))
      [[ $1 != simulate ]] || unset CARILLON_REDIS_URL CARILLON_APPS_NEWS_APNS_ENDPOINT CARILLON_APPS_NEWS_APNS_TRUST_ROOTS
      exec \(CarillonCommand.path) "$@"

      """)
    _ = try folder.write("redis-cli.sh", "#!/bin/sh\nexec /usr/bin/redis-cli -p \(server.port) \"$@\"\n")
    let own = #/(?m)^(carillon (?:simulate --directory sim|worker|admin)) *(?:#.*)?$/#
    let simulator =
      "carillon simulate --directory apns >>own.log 2>&1 & started+=($!); until_it_serves simulate\n"
    var script = try earlier.map { try self.script($0.page, $0.sections) + "\n" }.joined()
    if !earlier.isEmpty { script += "stop_started\n" }
    script += (startsSimulator ? simulator : "") + (try self.script(page, sections))
    script = script.replacing(own) { "\($0.1) >>own.log 2>&1 & started+=($!); until_it_serves \($0.1)" }
    for (shown, here) in [
      ("127.0.0.1:8080", "127.0.0.1:\(ports.page)"), ("ABC123DEFG", "SIMULATOR1"), ("DEF123GHIJ", "SIMULATION"),
    ] {
      script = script.replacing(shown, with: here)
    }
    let output = try await ChildProcess.run(
      "bash",
      [
        try folder.write(
          "run",
          """
          set -eE
          started=()
          mkdir bin
          for name in carillon redis-cli; do cp $name.sh bin/$name && chmod +x bin/$name; done
          trap 'echo "line $LINENO: $BASH_COMMAND"; cat own.log' ERR
          trap stop_started EXIT
          until_it_serves() { # command
            case "$*" in *simulate*) port=\(ports.push) ;; *admin) port=\(ports.page) ;; *) return 0 ;; esac
            until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do kill -0 "${started[-1]}"; done
          }
          stop_started() { kill "${started[@]}" || true; wait "${started[@]}" || true; started=(); }
          \(script)
          """)
      ], environment: ["PATH": "\(folder.path("bin")):/usr/local/bin:/usr/bin:/bin"], folder: folder.url)
    expect(output.exit, is: .status(0), "\(output.standardOutput)\(output.standardError)")
    return output.standardOutput
  }

  @Test(.enabled(if: Deploy.has("python3"), "no python3")) func readmeSendsByHTTPAndFromPython() async throws {
    let printed = try await run("README.md", "First campaign")
    for part in ["hello completed", "hello-python completed", #""id":"hello-python","duplicate":false,"warnings":[]"#] {
      expect(printed.contains(part), "\(part) is missing: \(printed)")
    }
  }

  @Test func readmeNeedsLessThanThirtyLines() throws {
    let lines = try script("README.md", ["First campaign"]).split(separator: "\n")
    expect(lines.count < 30)
    expect(try GuidePage("README.md").lineCount <= 150)
  }

  @Test func gettingStartedSendsWithTheSimulator() async throws {
    let printed = try await run(
      "deploy/guide/getting-started.md", "Send a campaign with the simulator", "Simulate FCM")
    expect(printed.contains("first-readers completed") && printed.contains(#""outcome":"accepted""#), "\(printed)")
    expect(printed.contains("both completed") && printed.contains("both~main-fcm"), "\(printed)")
  }

  @Test(.enabled(if: Deploy.has("python3"), "no python3")) func gettingStartedWorksAfterTheReadme() async throws {
    let printed = try await run(
      "deploy/guide/getting-started.md", "Connect your app to APNs", startsSimulator: true,
      after: [
        ("README.md", ["First campaign"]), ("deploy/guide/getting-started.md", ["Send a campaign with the simulator"]),
      ])
    for part in ["hello completed", "first-readers completed", "Hello Ada", #""targets":1"#] {
      expect(printed.contains(part), "\(part) is missing: \(printed)")
    }
  }

  @Test func gettingStartedConnectsAnApp() async throws {
    let printed = try await run("deploy/guide/getting-started.md", "Connect your app to APNs", startsSimulator: true)
    for part in ["wrote ", "ok  credential", #""errors":0"#, "Hello Ada", #""targets":1"#, #""duplicate":false"#] {
      expect(printed.contains(part), "\(part) is missing: \(printed)")
    }
  }
}
