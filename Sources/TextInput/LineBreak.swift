/// Line breaks that `echo`, editors and mounted secrets add at the end of a value. They do not belong to the value.
public enum LineBreak {
  /// Returns the value without the carriage returns and line feeds at its end.
  public static func dropped(fromEndOf value: String) -> String {
    var scalars = value.unicodeScalars[...]
    while let last = scalars.last, last == "\n" || last == "\r" { scalars.removeLast() }
    return String(scalars)
  }
}
