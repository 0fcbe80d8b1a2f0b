internal import Glibc

/// Stamp of a file, which shows whether the file was changed or replaced since the last check.
///
/// Links are followed, because Kubernetes updates a secret by changing a link to another folder.
public struct FileStamp: Equatable, Sendable {
  private var device: UInt
  private var inode: UInt
  private var size: Int
  private var modified: Int
  private var modifiedNanoseconds: Int
  private var mode: UInt32

  /// - Returns: `nil` if the file does not exist or is not accessible.
  public init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
    size = Int(status.st_size)
    modified = status.st_mtim.tv_sec
    modifiedNanoseconds = status.st_mtim.tv_nsec
    // A file that was refused because of its permissions must be checked again when they change.
    mode = status.st_mode
  }
}
