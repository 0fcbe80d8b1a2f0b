import Foundation
import Glibc
import Synchronization

/// Starts all children from one thread that lives as long as the process.
///
/// The kernel kills a child with a death signal when the *thread* that started it ends (prctl(2)). Threads of Dispatch
/// and of Swift's pool are temporary. The pipes are also created on this thread. So no child inherits an end of
/// another's pipe, which would keep the other's output open. Foundation's `Process` can't guarantee that.
final class Spawner: Sendable {
  static let shared = Spawner()

  /// A started program and our ends of its pipes.
  struct Child: Sendable {
    var processIdentifier: pid_t
    var input: Int32
    var output: Int32
    var errors: Int32
  }

  private let queue = Mutex<[@Sendable () -> Void]>([])
  private let work = DispatchSemaphore(value: 0)

  private init() {
    let thread = Thread { [self] in
      while true {
        work.wait()
        queue.withLock { $0.removeFirst() }()
      }
    }
    thread.name = "spawner"
    thread.start()
  }

  /// Starts a program from `PATH`.
  ///
  /// - Parameter environment: added to the environment of this process.
  func start(_ words: [String], environment: [String: String]) async throws -> Child {
    try await withCheckedThrowingContinuation { continuation in
      queue.withLock { queue in
        queue.append { continuation.resume(with: Result { try Self.spawn(words, environment) }) }
      }
      work.signal()
    }
  }

  private static func spawn(_ words: [String], _ environment: [String: String]) throws -> Child {
    let input = try pipe()
    let output = try pipe()
    let errors = try pipe()
    defer { for end in [input.read, output.write, errors.write] { close(end) } }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // dup2 clears the close-on-exec flag of the copy (dup(2)).
    for (end, number) in [(input.read, STDIN_FILENO), (output.write, STDOUT_FILENO), (errors.write, STDERR_FILENO)] {
      posix_spawn_file_actions_adddup2(&actions, end, number)
    }

    // Dispatch blocks signals on its threads, and children inherit this. A blocked SIGTERM would never arrive.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let arguments = words.map { strdup($0) } + [nil]
    let variables =
      ProcessInfo.processInfo.environment.merging(environment) { $1 }
      .map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var child: pid_t = 0
    let status = posix_spawnp(&child, words[0], &actions, &attributes, arguments, variables)
    guard status == 0 else {
      for end in [input.write, output.read, errors.read] { close(end) }
      throw TestSupportError("start \(words.joined(separator: " ")): \(String(cString: strerror(status)))")
    }
    return Child(processIdentifier: child, input: input.write, output: output.read, errors: errors.read)
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw TestSupportError("pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
