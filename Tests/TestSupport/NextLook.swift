import Dispatch

/// Lets a moment pass between two looks at what a test waits for, so that what it waits for gets the processor meanwhile: one
/// look after the other keeps a core busy, and eight tests share two.
///
/// For something that gives no signal. Nothing may depend on how long it takes.
///
/// - Parameter pause: in ms, longer than the look itself takes: the default is for one by a command line.
public func nextLook(milliseconds pause: Int = 20) async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(pause)) { continuation.resume() }
  }
}
