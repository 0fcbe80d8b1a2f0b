internal import Glibc

/// What tells whether a file was changed or exchanged since the last look.
///
/// Links are followed: Kubernetes updates a secret by pointing a link at another folder.
public struct FileStamp: Equatable, Sendable {
  private var device: UInt
  private var inode: UInt
  private var size: Int
  private var modified: Int
  private var modifiedNanoseconds: Int
  private var mode: UInt32

  /// - Returns: `nil` when there is no such file, or none that can be seen.
  public init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
    size = Int(status.st_size)
    modified = status.st_mtim.tv_sec
    modifiedNanoseconds = status.st_mtim.tv_nsec
    // A file that was refused for its permissions is worth another look when they change.
    mode = status.st_mode
  }
}
