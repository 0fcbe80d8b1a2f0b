import TestKit
import Testing

/// If these functions recorded nothing, no test could fail. The four known issues in the summary of a run come from here.
@Suite struct ExpectTests {
  @Test func differentValuesAreAnIssueWithBoth() {
    withKnownIssue {
      expect("a", is: "b", "the name")
    } matching: { issue in
      issue.comments.map(\.rawValue) == [#""a" is not "b": the name"#]
    }
    withKnownIssue {
      expect(nil, is: 1)
    } matching: { issue in
      issue.comments.map(\.rawValue) == ["nil is not Optional(1)"]
    }
    expect("a", is: "a")
  }

  @Test func falseConditionIsAnIssueAtItsLine() {
    let line = #line + 2
    withKnownIssue {
      expect(1 > 2, "one is less than two")
    } matching: { issue in
      issue.comments.map(\.rawValue) == ["one is less than two"] && issue.sourceLocation?.line == line
    }
    withKnownIssue {
      expect(false)
    } matching: {
      $0.comments.map(\.rawValue) == ["the condition is false"]
    }
    expect(true)
  }
}
