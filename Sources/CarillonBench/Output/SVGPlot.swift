import CommandSupport
import Foundation

/// A plot of lines as an SVG document. Equal plots give equal texts.
struct SVGPlot: Sendable {
  /// One line and its name.
  struct Series: Sendable {
    var name: String
    var points: [(x: Double, y: Double)]
  }

  var title: String
  var xLabel: String
  var yLabel: String
  /// Whether the x axis is logarithmic. If so, all x values must be above zero.
  var isLogarithmic = false
  var series: [Series]

  private static let width = 760.0
  private static let height = 420.0
  /// Margins for the labels. The right margin has room for the names of the lines.
  private static let margin = (left: 76.0, top: 56.0, right: 190.0, bottom: 52.0)
  /// Colours that colour-blind people can distinguish (Okabe and Ito).
  private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
  private static let ticks = 5

  /// The document.
  var text: String {
    let points = series.flatMap(\.points)
    let xs = points.map { place($0.x) }
    let left = isLogarithmic ? xs.min() ?? 0 : min(0, xs.min() ?? 0)
    let right = max(xs.max() ?? 1, left + 1e-9)
    let step = Self.step(for: points.map(\.y).max() ?? 1)
    let top = step * Double(Self.ticks)
    let area = (
      width: Self.width - Self.margin.left - Self.margin.right,
      height: Self.height - Self.margin.top - Self.margin.bottom
    )
    func x(_ value: Double) -> Double { Self.margin.left + (place(value) - left) / (right - left) * area.width }
    func y(_ value: Double) -> Double { Self.margin.top + (1 - value / top) * area.height }

    var lines = [
      #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Int(Self.width)) \#(Int(Self.height))" "#
        + #"font-family="sans-serif" font-size="12">"#,
      #"<rect width="100%" height="100%" fill="white"/>"#,
      Self.label(title, x: Self.margin.left, y: 22, more: #"font-size="15""#),
      Self.label(
        xLabel, x: Self.margin.left + area.width / 2, y: Self.height - 12, more: #"text-anchor="middle""#),
      Self.label(yLabel, x: 12, y: Self.margin.top - 14),
    ]
    for tick in 0...Self.ticks {
      let value = step * Double(tick)
      lines.append(
        #"<path d="M\#(Self.margin.left) \#(Self.number(y(value)))h\#(area.width)" stroke="lightgray"/>"#)
      lines.append(
        Self.label(Self.tick(value), x: Self.margin.left - 8, y: y(value) + 4, more: #"text-anchor="end""#))
    }
    for value in xTicks(points.map(\.x)) {
      lines.append(
        Self.label(
          Self.tick(value), x: x(value), y: Self.height - Self.margin.bottom + 18, more: #"text-anchor="middle""#))
    }
    for (index, line) in series.enumerated() {
      let colour = Self.colours[index % Self.colours.count]
      let path = line.points.map { "\(Self.number(x($0.x))),\(Self.number(y($0.y)))" }.joined(separator: " ")
      lines.append(#"<polyline points="\#(path)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#)
      if line.points.count <= 12 {
        for point in line.points {
          lines.append(
            #"<circle cx="\#(Self.number(x(point.x)))" cy="\#(Self.number(y(point.y)))" r="3" fill="\#(colour)"/>"#)
        }
      }
      let below = Self.margin.top + 14 + Double(index) * 18
      lines.append(
        Self.label(line.name, x: Self.width - Self.margin.right + 14, y: below, more: #"fill="\#(colour)""#))
    }
    lines.append("</svg>\n")
    return lines.joined(separator: "\n")
  }

  private func place(_ x: Double) -> Double { isLogarithmic ? log10(x) : x }

  /// Returns the label positions of the axis: the values if they are few, otherwise even steps.
  private func xTicks(_ values: [Double]) -> [Double] {
    let distinct = Array(Set(values)).sorted()
    guard distinct.count > 6, let largest = distinct.last else { return distinct }
    let step = Self.step(for: largest)
    return (0...Self.ticks).map { Double($0) * step }.filter { $0 <= largest && (!isLogarithmic || $0 > 0) }
  }

  /// Returns the smallest of 1, 2, 2.5 and 5 and their decimal multiples for which the ticks reach `largest`.
  static func step(for largest: Double) -> Double {
    guard largest > 0, largest.isFinite else { return 1 }
    let least = largest / Double(ticks)
    let power = pow(10, log10(least).rounded(.down))
    return power * ([1, 2, 2.5, 5].first { $0 * power >= least } ?? 10)
  }

  /// Returns the label of an axis. Integers have no fraction.
  private static func tick(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? Int(value).grouped : Figure.text(value)
  }

  private static func label(_ text: String, x: Double, y: Double, more: String = "") -> String {
    let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    return #"<text x="\#(number(x))" y="\#(number(y))" \#(more)>\#(escaped)</text>"#
  }

  /// Returns the value rounded to a tenth of a pixel. More digits have no visible effect.
  private static func number(_ value: Double) -> String { String((value * 10).rounded() / 10) }
}
