import Foundation
import TestSupport
import Testing

/// The README's commands, run as they stand there: what somebody who has only that page types in.
@Suite(
  .enabled(if: Deploy.has("redis-cli") && Deploy.has("curl"), "no redis-cli or curl"), .timeLimit(.minutes(3)))
struct ReadmeTests {
  /// The code of a section, without what builds the program: the one that was built is in `PATH`.
  private func code(of section: String) throws -> String {
    let page = try String(contentsOf: Deploy.package.appending(path: "README.md"), encoding: .utf8)
    let start = try #require(page.range(of: "\n## \(section)\n")).upperBound
    let end = page.range(of: "\n## ", range: start..<page.endIndex)?.lowerBound ?? page.endIndex
    let lines = page[start..<end].split(separator: "\n").filter { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
    #expect(lines.count > 8)
    return lines.filter { !$0.hasPrefix("make build") }.joined(separator: "\n")
  }

  /// Runs a section in a folder of its own. What has a terminal of its own runs beside the rest and ends with it. The programs are
  /// told of this test's Redis, of free ports, and of the simulator in Apple's place; nothing else is changed.
  private func run(_ section: String, ports: (push: Int, control: Int, page: Int)) async throws -> String {
    let (folder, server) = (try ScratchFolder("readme"), try await RedisServer.start())
    let simulated = try await CarillonCommand.run(["simulate", "--init", folder.path("apns")])
    #expect(simulated.exit == .status(0))
    let key = "AuthKey_SIMULATOR1.p8"
    try FileManager.default.copyItem(atPath: folder.path("apns/\(key)"), toPath: folder.path(key))
    let apns = "https://127.0.0.1:\(ports.push)"
    // Written by the script: a file that this process has just written may still be open in a child of its own (ETXTBSY).
    _ = try folder.write(
      "carillon.sh",
      """
      #!/usr/bin/env bash
      export CARILLON_REDIS_URL=\(server.url) CARILLON_APPS_NEWS_ENDPOINT=\(apns)
      case "$1 $2" in
        "simulate --directory") set -- "$@" --port \(ports.push) --control-port \(ports.control) ;;
        "admin ") export CARILLON_ADMIN_LISTEN=127.0.0.1:\(ports.page) ;;
        "init "*) unset CARILLON_REDIS_URL; set -- "$@" --redis \(server.url) ;;
      esac
      [[ $CARILLON_CONFIG == */sim/* ]] || export CARILLON_APPS_NEWS_TRUST_ROOTS=\(folder.path("apns/ca.pem"))
      [[ $1 != simulate ]] || unset CARILLON_REDIS_URL CARILLON_APPS_NEWS_ENDPOINT CARILLON_APPS_NEWS_TRUST_ROOTS
      exec \(CarillonCommand.path) "$@"

      """)
    _ = try folder.write("redis-cli.sh", "#!/bin/sh\nexec /usr/bin/redis-cli -p \(server.port) \"$@\"\n")
    let own = #/(?m)^(carillon (?:simulate --directory sim|worker|admin)) *(?:#.*)?$/#
    var script = try code(of: section).replacing(own) {
      "\($0.1) >>own.log 2>&1 & started+=($!); until_it_serves \($0.1)"
    }
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
          trap 'kill "${started[@]}"; wait' EXIT
          until_it_serves() { # command
            case "$*" in *simulate*) port=\(ports.push) ;; *admin) port=\(ports.page) ;; *) return 0 ;; esac
            until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do kill -0 "${started[-1]}"; done
          }
          \(section == "The first campaign" ? "carillon simulate --directory apns >>own.log 2>&1 & started+=($!); until_it_serves simulate" : "")
          \(script)
          """)
      ], environment: ["PATH": "\(folder.path("bin")):/usr/local/bin:/usr/bin:/bin"], folder: folder.url)
    #expect(output.exit == .status(0), "\(output.standardOutput)\(output.standardError)")
    return output.standardOutput
  }

  private func ports() throws -> (push: Int, control: Int, page: Int) {
    (Int(try FreePort.find()), Int(try FreePort.find()), Int(try FreePort.find()))
  }

  @Test func twoMinutesByHand() async throws {
    let said = try await run(
      "Two minutes by hand", ports: try ports())
    #expect(said.contains("hello completed") && said.contains(#""outcome":"accepted""#), "\(said)")
  }

  @Test func firstCampaign() async throws {
    let said = try await run(
      "The first campaign", ports: try ports())
    for part in ["wrote ", "ok  credential", #""errors":0"#, "Hello Ada", #""targets":1"#, #""duplicate":false"#] {
      #expect(said.contains(part), "\(part) is not in \(said)")
    }
  }
}
