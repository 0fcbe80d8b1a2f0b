import Foundation
import TestKit
import TestSupport
import Testing

@testable import carillon

/// `carillon top`. On a terminal it draws the whole screen and restores it at the end. Elsewhere it prints the state
/// once.
struct TopTests {
  @Test func withoutATerminalTopPrintsOneFrame() async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("top")
    expect(output.exit == .status(1) && output.standardOutput.contains("  ! no worker runs"))
    expect(!output.standardOutput.contains("\u{1B}"))
    expect(try JSONObject(try await world.run("top", "--json").standardOutput).bool("healthy"), is: false)
    expect(try await world.run("top", "--interval", "0").exit, is: .status(64))
  }

  /// script(1) provides a terminal and the typed text. A signal comes after the screen is drawn. The file of script(1)
  /// begins with the command itself, which the pattern must not match.
  @Test(arguments: ["q", "INT", "TERM", "HUP"])
  func topRestoresTheTerminal(how: String) async throws {
    let world = try await CarillonWorld()
    let path = { (name: String) in world.folder.path(name) }
    let signal =
      how == "q"
      ? "" : "(until grep -q '[?]1049h' \(path("seen")); do :; done; kill -\(how) $(cat \(path("id")))) & "
    let command =
      "stty -a > \(path("before")); \(signal)sh -c 'echo $$ > \(path("id")); exec \(CarillonCommand.path) top'; "
      + "echo status $?; stty -a > \(path("after"))"
    let output = try await ChildProcess.run(
      "script", ["--quiet", "--flush", "--return", "--command", command, path("seen")],
      environment: world.environment, input: how == "q" ? "q" : "")
    let text = output.standardOutput
    expect(text.contains("status 0"), "\(text) \(output.standardError)")
    let (shown, left) = (try #require(text.range(of: "\u{1B}[?1049h")), try #require(text.range(of: "\u{1B}[?1049l")))
    expect(shown.upperBound < left.lowerBound && text.contains("\u{1B}[?25l") && text.contains("\u{1B}[?25h"))
    expect(text[shown.upperBound..<left.lowerBound].contains("no worker runs"))
    let before = try String(contentsOfFile: path("before"), encoding: .utf8)
    expect(before.contains("icanon") && !before.contains("-icanon"))
    expect(try String(contentsOfFile: path("after"), encoding: .utf8), is: before)
  }

  @Test func frameIsCutToTheScreen() {
    expect(
      FullScreen.frame(["abcdef", "gh", "ij"], width: 4, height: 2), is: "\u{1B}[Habcd\u{1B}[K\r\ngh\u{1B}[K\u{1B}[J")
    expect(FullScreen.frame([], width: 4, height: 2), is: "\u{1B}[H\u{1B}[J")
  }
}
