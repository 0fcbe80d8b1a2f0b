internal import Glibc
internal import TextInput

/// Reads files that hold a secret: signing keys, identities, passphrases.
///
/// A file that everybody may read, or that others may write, is refused. One that its group may read is taken: that is how
/// systemd's credentials and Kubernetes' secrets with an `fsGroup` reach a service that doesn't run as root.
public enum SecretFile {
  /// Keys and identities are some kB; whoever names a core dump by mistake should hear of it soon.
  public static let maximumSize = 256 * 1024

  /// The bytes of a file, without a byte order mark at its start.
  ///
  /// - Throws: ``SecretFileError``, which names the file.
  public static func read(_ path: String) throws(SecretFileError) -> [UInt8] {
    try contents(path, isSecret: true)
  }

  /// The bytes of a file.
  ///
  /// - Parameter isSecret: whether it is refused when others can read or change it.
  static func contents(_ path: String, isSecret: Bool) throws(SecretFileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last(path) }
    defer { close(descriptor) }
    var status = stat()
    // Asked of the descriptor, not of the path: nobody can exchange the file between the look and the reading.
    guard fstat(descriptor, &status) == 0 else { throw .last(path) }
    let mode = status.st_mode & 0o777
    // A pipe or a terminal has no readers but us.
    if isSecret, status.st_mode & S_IFMT == S_IFREG, mode & 0o026 != 0 {
      throw .init(file: path, problem: .exposed(mode: mode))
    }
    var bytes = [UInt8](repeating: 0, count: maximumSize + 1)
    var count = 0
    while count < bytes.count {
      let (start, left) = (count, bytes.count - count)
      let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress?.advanced(by: start), left) }
      guard got >= 0 else {
        if errno == EINTR { continue }
        throw .last(path)
      }
      if got == 0 { return ByteOrderMark.dropped(from: Array(bytes.prefix(count))) }
      count += got
    }
    throw .init(file: path, problem: .tooLarge)
  }

  /// The passphrase in a file: its first line.
  ///
  /// - Throws: ``SecretFileError``, which names the file.
  public static func passphrase(_ path: String) throws(SecretFileError) -> [UInt8] {
    let bytes = try read(path)
    var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    // C strings end at a zero, so the passphrase would silently be another one.
    guard !line.contains(0) else { throw .init(file: path, problem: .unreadable("a zero byte in the passphrase")) }
    return Array(line)
  }
}

/// Why a file with a secret was not read, and what to do about it.
public struct SecretFileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong with it.
  public enum Problem: Equatable, Sendable {
    /// The system's own words.
    case unreadable(String)
    /// More people than its owner and its group's members can read it, or others than its owner change it.
    case exposed(mode: UInt32)
    /// Larger than ``SecretFile/maximumSize``.
    case tooLarge
  }

  /// The file.
  public var file: String
  /// What is wrong with it.
  public var problem: Problem

  /// Memberwise.
  public init(file: String, problem: Problem) {
    self.file = file
    self.problem = problem
  }

  /// What is wrong, without the file.
  public var reason: String {
    switch problem {
    case .unreadable(let reason): reason
    case .exposed(let mode):
      (mode & 0o004 != 0 ? "everybody on this machine can read it" : "others than its owner can change it")
        + " (mode 0\(String(mode, radix: 8)))"
    case .tooLarge: "larger than \(SecretFile.maximumSize) bytes: not a key"
    }
  }

  /// What to do about it.
  public var hint: String {
    switch problem {
    case .unreadable: "check the path and its permissions"
    case .exposed:
      "run: chmod 600 \(file) — or, where it is mounted, set the secret's defaultMode to 0400, or 0440 with an fsGroup "
        + "(Kubernetes), or its mode to 0400 (Docker)"
    case .tooLarge: "check the path"
    }
  }

  public var description: String { "\(file): \(reason); \(hint)" }

  static func last(_ file: String) -> SecretFileError {
    SecretFileError(file: file, problem: .unreadable(String(cString: strerror(errno))))
  }
}
