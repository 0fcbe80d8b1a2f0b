import CMicrohttpd
import Dispatch
import Glibc
import Synchronization

/// An HTTP/1.1 server based on libmicrohttpd. One thread of libmicrohttpd waits for all sockets. Tasks create the
/// answers; the connection of a request is suspended until its answer is ready.
///
/// Every wait, list and buffer has a bound (``HTTPServerOptions``). If no file descriptor is free, the server accepts
/// no connection until one becomes free (libmicrohttpd, `MHD_accept_connection`).
public final class HTTPServer: Sendable {
  /// `@unchecked Sendable` is sound because any thread may call libmicrohttpd's functions for a daemon, except
  /// `MHD_stop_daemon`, which ``stop(within:)`` calls once.
  private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
    let core: Unmanaged<ServerCore>
  }

  /// `@unchecked Sendable` is sound because any thread may cancel a Dispatch source (dispatch_source_create(3)). After
  /// its start, the source is only cancelled.
  private struct Clock: @unchecked Sendable {
    let source: any DispatchSourceTimer
  }

  /// The port on which the server listens.
  public let port: Int
  private let core: ServerCore
  private let daemon: Mutex<Daemon?>
  private let clock: Clock

  /// Maximum time in which requests must end after the server has cancelled them.
  private static let lastWait = Duration.seconds(10)
  /// Seconds between two checks for connections that take too long, and for clients that have disconnected.
  private static let clockInterval = 0.5

  /// Creates a server, which starts to listen and to serve immediately.
  ///
  /// - Throws: The error that prevents the start, with the address.
  public init(_ options: HTTPServerOptions, handler: any HTTPHandler) throws(HTTPServerError) {
    let listener = try Listener.open(host: options.host, port: options.port)
    let core = ServerCore(handler, options)
    // The core is released after the end of the daemon, because the daemon calls its callbacks until then.
    let context = Unmanaged.passRetained(core)
    let pointer = cmicrohttpd_start(
      listener.descriptor, UInt32(options.connections + options.spareConnections), options.memoryPerConnection,
      UInt32(options.idleTimeout), options.identity?.key, options.identity?.certificateChain,
      { _, target, _ in target.map(ServerCore.begin) },
      { context, connection, _, method, version, upload, uploadSize, slot in
        guard let context, let connection, let method, let version, let uploadSize, let slot else {
          return cmicrohttpd_no
        }
        return Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
          .handle(connection, method: method, version: version, upload: upload, uploadSize: uploadSize, slot: slot)
      },
      { context, connection, slot, _ in
        guard let context, let connection, let slot else { return }
        Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue().completed(connection, slot: slot)
      },
      { context, connection, _, event in
        guard let context, let connection else { return }
        Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
          .notify(connection, hasStarted: event == cmicrohttpd_started)
      }, context.toOpaque())
    guard let pointer else {
      context.release()
      // Do not close the socket here. libmicrohttpd (0.9.75) closes it after some failures, such as a wrong key, but
      // not after others. A second close could close a descriptor that is in use again.
      throw HTTPServerError(
        description: "can't serve on \(options.host):\(listener.port): libmicrohttpd does not start"
          + (options.identity == nil ? "" : "; check that the certificate is PEM and that the key belongs to it"),
        isOfIdentity: options.identity != nil)
    }
    self.core = core
    port = listener.port
    daemon = Mutex(Daemon(pointer: pointer, core: context))
    let clock = DispatchSource.makeTimerSource(queue: .global())
    let timeout = UInt64(options.requestDeadline * 1e9)
    let interval = min(Self.clockInterval, options.requestDeadline / 4)
    clock.setEventHandler {
      let now = ServerCore.now
      core.connections.endWaiting(before: now - min(timeout, now))
      core.connections.endAbandoned(now: now)
    }
    clock.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
    clock.resume()
    self.clock = Clock(source: clock)
  }

  /// Number of open connections.
  public var connections: Int { core.connections.open }

  /// Stops accepting connections, answers the requests in progress, and then ends the server. Idempotent: a second call
  /// returns immediately.
  ///
  /// - Parameter deadline: Time for the requests in progress. After this time, their connections are closed.
  public func stop(within deadline: Duration) async {
    guard
      let daemon = daemon.withLock({ daemon -> Daemon? in
        defer { daemon = nil }
        return daemon
      })
    else { return }
    clock.source.cancel()
    core.beginStop()
    let listener = MHD_quiesce_daemon(daemon.pointer)
    if await !core.waitUntilIdle(deadline) {
      core.cancel()
      // MHD_stop_daemon must not be called while a connection is suspended. If a connection stays suspended, the daemon
      // is not stopped and ends with the process.
      guard await core.waitUntilIdle(Self.lastWait) else { return }
    }
    await withCheckedContinuation { continuation in
      // The call joins the daemon's thread, which may be busy. It therefore runs on another queue, so that it does not
      // block a thread of Swift's executor.
      DispatchQueue.global().async {
        MHD_stop_daemon(daemon.pointer)
        // MHD_quiesce_daemon: the caller must close the socket, but not before the end of the daemon.
        if listener >= 0 { close(listener) }
        daemon.core.release()
        continuation.resume()
      }
    }
  }
}
