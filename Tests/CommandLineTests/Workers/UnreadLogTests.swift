import Foundation
import Glibc
import TestKit
import TestSupport
import Testing

/// Commands whose output goes into a pipe without a reader.
struct UnreadLogTests {
  /// A named pipe of 4,096 bytes, which the test does not read.
  private struct UnreadPipe {
    let path: String
    private let descriptor: Int32

    init(in folder: ScratchFolder) throws {
      path = folder.path("log-\(UUID().uuidString)")
      guard mkfifo(path, 0o600) == 0 else { throw TestSupportError("no pipe at \(path)") }
      // fifo(7): a pipe that is opened for reading and writing does not block `open`, and a writer has a reader. The
      // flag applies only to this descriptor.
      descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0, narrowPipe(descriptor) else { throw TestSupportError("no pipe") }
    }

    /// Fills the pipe.
    func fill() {
      let byte: [UInt8] = [UInt8(ascii: "\n")]
      while write(descriptor, byte, 1) == 1 {}
    }

    /// Whether the pipe is full.
    var isFull: Bool {
      // poll(2): POLLOUT is set if a page is free (pipe(7)).
      var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      return poll(&entry, 1, 0) == 0
    }

    /// Reads until the output contains a text.
    func read(until text: String) async throws -> String {
      var said = ""
      var buffer = [UInt8](repeating: 0, count: 65_536)
      // One read for each check: a program that writes without end must not outlast the limit.
      try await TestSupport.poll(until: "the output contains \(text)", every: .milliseconds(1)) {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count > 0 { said += String(decoding: buffer[..<count], as: UTF8.self) }
        return said.contains(text)
      }
      return said
    }
  }

  /// Starts a command with the pipe as its standard output and standard error.
  private func start(
    _ arguments: [String], into pipe: UnreadPipe, environment: [String: String]
  ) async throws -> ChildProcess {
    try await ChildProcess.start(
      "sh", ["-c", #"exec "$0" "$@" > "$LOG" 2>&1"#, CarillonCommand.path] + arguments,
      environment: environment.merging(["LOG": pipe.path]) { $1 })
  }

  /// - Returns: how the command ended; `nil` if it did not end within a minute.
  private func exit(of child: ChildProcess) async -> ChildProcess.Exit? {
    try? await poll(until: "the command ends", within: .seconds(60)) { child.exit != nil }
    return child.exit
  }

  /// The pipe is full after a few lines. The worker sends the campaign nevertheless, and a signal ends the worker.
  /// Before the signal, the test reads the pipe and finds every line up to the latest one.
  @Test(arguments: ["native", "curl"])
  func workerSendsWhileItsLogIsUnread(engine: String) async throws {
    let targets = ProcessInfo.processInfo.environment["CARILLON_TEST_LOG_TARGETS"].flatMap { Int($0) } ?? 500
    var world = try await CarillonWorld(partitions: 32, engine: engine)
    try await world.startSimulator()
    try await world.importDevices(targets)
    let pipe = try UnreadPipe(in: world.folder)
    let worker = try await start(
      ["worker", "--name", "mute", "--log-level", "trace", "--json"], into: pipe, environment: world.environment)
    try await world.submit("a")
    try await world.until("a") { $0.text("state") == "completed" }
    expect(try await world.show("a").object("outcomes")?.number("accepted"), is: targets)
    expect(pipe.isFull)
    if engine == "native" {
      let said = try await pipe.read(until: #""event":"ended""#)
      expect(said.contains(#""event":"started""#) && said.components(separatedBy: #""event":"closed""#).count == 33)
      try await world.submit("b")
      try await world.until("b") { $0.text("state") == "completed" }
    }
    worker.send(signal: SIGTERM)
    expect(await exit(of: worker), is: .status(0))
  }

  /// No line of the command's start fits in the pipe.
  @Test(arguments: [
    ["worker", "--listen", "127.0.0.1:0"], ["admin", "--listen", "127.0.0.1:0"],
    ["simulate", "--port", "0", "--control-port", "0", "--directory"],
  ])
  func signalEndsACommandWithUnreadOutput(arguments: [String]) async throws {
    let world = try await CarillonWorld(engine: "native")
    let pipe = try UnreadPipe(in: world.folder)
    pipe.fill()
    var arguments = arguments
    if arguments.last == "--directory" {
      let configuration = try #require(world.environment["CARILLON_CONFIG"])
      arguments.append(URL(filePath: configuration).deletingLastPathComponent().path)
    }
    let command = try await start(arguments, into: pipe, environment: world.environment)
    try await poll(until: "the command handles signals") { command.handles(SIGTERM) || command.exit != nil }
    command.send(signal: SIGTERM)
    expect(await exit(of: command), is: .status(0))
    expect(pipe.isFull)
  }
}
