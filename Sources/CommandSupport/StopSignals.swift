import Dispatch
import Glibc

/// SIGTERM and SIGINT as they come, instead of the death that they are by default.
package struct StopSignals {
  /// Their numbers. For one reader.
  package let numbers: AsyncStream<Int32>
  private let sources: [any DispatchSourceSignal]

  /// Takes them over from now on, for the rest of the process.
  package init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    numbers = stream
    sources = [SIGTERM, SIGINT].map { number in
      // The source sees the signal beside its disposition, which must therefore not be to die (dispatch_source_create(3)).
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield(number) }
      source.resume()
      return source
    }
  }
}
