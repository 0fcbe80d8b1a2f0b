/// The signal that wakes the task of a slice: the slice's own, or that of the bunch with which it is driven.
struct SliceWakeUp {
  var signal = LoopSignal()
  /// The number of the bunch; `nil` for none.
  var bunch: Int?
}
