import TestSupport

/// A wrong clock for a redis-server. The clock can be changed only while the server is down.
struct ShiftedClock {
  private let folder: ScratchFolder

  /// - Parameter seconds: seconds that the server's clock is ahead at its start.
  init(ahead seconds: Int = 0) throws {
    folder = try ScratchFolder("clock")
    try folder.write("shift", String(seconds))
  }

  /// Command words that start the server with this clock.
  var launcher: [String] {
    get throws {
      let text =
        #"export LD_PRELOAD='\#(try ClockShift.library())' CLOCK_SHIFT_SECONDS=$(cat '\#(folder.path("shift"))'); exec "$@""#
      return ["sh", "-c", text, "sh"]
    }
  }

  /// Restarts the server with its clock `seconds` ahead of the machine's clock.
  func shift(_ server: RedisServer, by seconds: Int) async throws {
    await server.stop()
    try folder.write("shift", String(seconds))
    try await server.restart()
  }
}
