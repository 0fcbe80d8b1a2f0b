import APNsSimulator

extension Simulator {
  /// Runs `body` with a new simulator, and stops the simulator afterwards.
  static func run(
    _ configuration: SimulatorConfiguration, _ body: (Simulator) async throws -> Void
  ) async throws {
    let simulator = try await start(configuration)
    do {
      try await body(simulator)
    } catch {
      await simulator.stop()
      throw error
    }
    await simulator.stop()
  }
}
