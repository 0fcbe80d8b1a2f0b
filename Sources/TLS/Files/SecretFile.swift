internal import Glibc
internal import TextInput

/// Reader for files that contain a secret: signing keys, identities, passphrases.
///
/// A file that all users can read, or that other users can write, is refused. A file that its group can read is
/// accepted: systemd's credentials and Kubernetes' secrets with an `fsGroup` have this permission if the service does
/// not run as root.
public enum SecretFile {
  /// Maximum size of a file in bytes. Keys and identities have some kB. The limit refuses a wrong file, such as a core
  /// dump, before it is read completely.
  public static let maximumSize = 256 * 1024

  /// Returns the bytes of a file, without a byte order mark at its start.
  ///
  /// - Throws: ``SecretFileError``, which names the file.
  public static func read(_ path: String) throws(SecretFileError) -> [UInt8] {
    try contents(path, isSecret: true)
  }

  /// Returns the bytes of a file.
  ///
  /// - Parameter isSecret: whether the file is refused if other users can read or change it.
  static func contents(_ path: String, isSecret: Bool) throws(SecretFileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last(path) }
    defer { close(descriptor) }
    var status = stat()
    // The check uses the descriptor, not the path: the file can't be replaced between check and read.
    guard fstat(descriptor, &status) == 0 else { throw .last(path) }
    let mode = status.st_mode & 0o777
    // Only a regular file is checked: a pipe or a terminal has no other readers.
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

  /// Returns the passphrase in a file: its first line.
  ///
  /// - Throws: ``SecretFileError``, which names the file.
  public static func passphrase(_ path: String) throws(SecretFileError) -> [UInt8] {
    let bytes = try read(path)
    var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    // Refuses a zero byte, because C strings end there: OpenSSL would use a shorter passphrase without an error.
    guard !line.contains(0) else { throw .init(file: path, problem: .unreadable("a zero byte in the passphrase")) }
    return Array(line)
  }
}

/// Reason why a file with a secret was not read, with a hint.
public typealias SecretFileError = CredentialFileError<SecretFileProblem>

/// Problem with a file that contains a secret.
public enum SecretFileProblem: CredentialFileProblem {
  /// Error text of the system.
  case unreadable(String)
  /// More users than its owner and its group can read the file, or other users than its owner can change it.
  case exposed(mode: UInt32)
  /// The file is larger than ``SecretFile/maximumSize``.
  case tooLarge

  public var reason: String {
    switch self {
    case .unreadable(let reason): reason
    case .exposed(let mode):
      (mode & 0o004 != 0 ? "every user of this machine can read it" : "users other than its owner can change it")
        + " (mode 0\(String(mode, radix: 8)))"
    case .tooLarge: "larger than \(SecretFile.maximumSize) bytes: not a key"
    }
  }

  public func hint(for file: String) -> String {
    switch self {
    case .unreadable: "check the path and its permissions"
    case .exposed:
      "run: chmod 600 \(file) — or, if it is mounted, set the secret's defaultMode to 0400, or 0440 with an fsGroup "
        + "(Kubernetes), or its mode to 0400 (Docker)"
    case .tooLarge: "check the path"
    }
  }
}

extension SecretFileError {
  /// Returns the error of the last system call.
  static func last(_ file: String) -> SecretFileError {
    SecretFileError(file: file, problem: .unreadable(String(cString: strerror(errno))))
  }
}
