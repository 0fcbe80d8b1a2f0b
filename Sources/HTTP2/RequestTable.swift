/// What a ``RequestSession`` keeps of its requests: a slot for each that may be open, made once and used again.
///
/// A class, and its lists bare memory, so that callbacks change it without the checks of exclusive access that a struct
/// in another class's property takes: they were a twentieth of the work of a push.
final class RequestTable {
  struct Slot {
    var tag: UInt64 = 0
    var mark = 0
    var startedAt: UInt64 = 0
    /// What is still to be sent of the body.
    var body: UnsafeRawPointer?
    var bodyLeft = 0
    /// A copy of it, when the peer had no room at once.
    var kept: UnsafeMutableRawBufferPointer?
    /// Bytes that the session had made when the last frame of the request was among them; `max` before.
    var end = UInt64.max
    var id: Int32 = 0
    var status: UInt16 = 0
    var retryAfter: UInt16 = 0
    var error: UInt32 = 0
    var answerCount = 0
    var isOpen = false
    var wasSent = false
    var isMalformed = false
  }

  let capacity: Int
  let slots: UnsafeMutablePointer<Slot>
  private(set) var openCount = 0
  /// Room for the bodies of answers; memory is only touched where there are some.
  private let answers: UnsafeMutableRawPointer
  /// Slots that no request is in, a stack.
  private let free: UnsafeMutablePointer<Int32>
  private var freeCount: Int
  /// Slots whose requests have ended, in their order: a ring, where the next is told and where the next is put.
  private let ended: UnsafeMutablePointer<Int32>
  private var nextTold = 0
  private var nextPut = 0
  private(set) var endedCount = 0

  init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(), count: capacity)
    answers = .allocate(byteCount: capacity * RequestSession.keptBody, alignment: 16)
    free = .allocate(capacity: capacity)
    ended = .allocate(capacity: capacity)
    for slot in 0..<capacity { free[slot] = Int32(capacity - 1 - slot) }
    freeCount = capacity
  }

  deinit {
    for slot in 0..<capacity { slots[slot].kept?.deallocate() }
    slots.deallocate()
    answers.deallocate()
    free.deallocate()
    ended.deallocate()
  }

  var hasFree: Bool { freeCount > 0 }

  func take(tag: UInt64, mark: Int, now: UInt64, body: UnsafeRawBufferPointer) -> Int {
    precondition(freeCount > 0)
    freeCount -= 1
    let slot = Int(free[freeCount])
    slots[slot] = Slot(
      tag: tag, mark: mark, startedAt: now, body: body.baseAddress, bodyLeft: body.count, isOpen: true)
    openCount += 1
    return slot
  }

  /// Takes back a slot whose request never became one.
  func discard(_ slot: Int) {
    slots[slot].isOpen = false
    openCount -= 1
    release(slot)
  }

  /// Copies what is left of a body, whose memory the caller takes back.
  func keepBody(of slot: Int) {
    guard slots[slot].isOpen, let body = slots[slot].body else { return }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: slots[slot].bodyLeft, alignment: 1)
    copy.copyMemory(from: UnsafeRawBufferPointer(start: body, count: slots[slot].bodyLeft))
    slots[slot].kept = copy
    slots[slot].body = UnsafeRawPointer(copy.baseAddress)
  }

  func takeBody(of slot: Int, count: Int) -> UnsafeRawBufferPointer {
    let bytes = UnsafeRawBufferPointer(start: slots[slot].body, count: count)
    slots[slot].body = slots[slot].body.map { $0 + count }
    slots[slot].bodyLeft -= count
    return bytes
  }

  func keepAnswer(_ bytes: UnsafeRawBufferPointer, of slot: Int) {
    let start = slots[slot].answerCount
    let count = min(bytes.count, RequestSession.keptBody - start)
    guard count > 0, let source = bytes.baseAddress else { return }
    (answers + slot * RequestSession.keptBody + start).copyMemory(from: source, byteCount: count)
    slots[slot].answerCount += count
  }

  func end(_ slot: Int, error: UInt32) {
    guard slots[slot].isOpen else { return }
    slots[slot].error = error
    // nghttp2 ends so what breaks the rules for messages, such as a second status or a body of another length.
    if error == HTTP2ErrorCode.protocolError.rawValue { slots[slot].isMalformed = true }
    slots[slot].wasSent = slots[slot].end != .max
    close(slot)
  }

  func abandon(written: UInt64) {
    for slot in 0..<capacity where slots[slot].isOpen {
      slots[slot].error = HTTP2ErrorCode.cancel.rawValue
      slots[slot].wasSent = slots[slot].end <= written
      close(slot)
    }
  }

  private func close(_ slot: Int) {
    slots[slot].isOpen = false
    openCount -= 1
    // Never more than slots: each is told before it is free again.
    ended[nextPut] = Int32(slot)
    nextPut = nextPut + 1 == capacity ? 0 : nextPut + 1
    endedCount += 1
  }

  private func release(_ slot: Int) {
    free[freeCount] = Int32(slot)
    freeCount += 1
  }

  func nextEnded() -> RequestSession.Ended? {
    guard endedCount > 0 else { return nil }
    let slot = Int(ended[nextTold])
    nextTold = nextTold + 1 == capacity ? 0 : nextTold + 1
    endedCount -= 1
    release(slot)
    if let kept = slots[slot].kept {
      kept.deallocate()
      slots[slot].kept = nil
    }
    let end = slots[slot]
    return RequestSession.Ended(
      tag: end.tag, mark: end.mark, startedAt: end.startedAt, status: end.isMalformed ? 0 : end.status,
      retryAfter: end.retryAfter,
      error: HTTP2ErrorCode(rawValue: end.error), wasSent: end.wasSent,
      body: UnsafeRawBufferPointer(start: answers + slot * RequestSession.keptBody, count: end.answerCount))
  }

  /// A request that was opened before `time` and is still open.
  func firstOpen(before time: UInt64) -> Int? {
    (0..<capacity).first { slots[$0].isOpen && slots[$0].startedAt < time }
  }

  /// Finds a request that nghttp2 has no stream for yet.
  func find(id: Int32) -> Int? { (0..<capacity).first { slots[$0].isOpen && slots[$0].id == id } }

  // A stream's user data in nghttp2 is a pointer; null is "none", so slots count from one there.

  static func userData(_ slot: Int) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: slot + 1) }

  static func slot(userData: UnsafeMutableRawPointer?) -> Int { Int(bitPattern: userData) - 1 }
}
