extension RandomAccessCollection where Index == Int {
  /// Returns the parts of the collection, in order.
  ///
  /// - Parameter size: how many elements a part has at most.
  func batches(of size: Int = CampaignStore.batch) -> [SubSequence] {
    stride(from: startIndex, to: endIndex, by: size).map { self[$0..<Swift.min($0 + size, endIndex)] }
  }
}
