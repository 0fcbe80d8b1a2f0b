"""Validates deploy/monitoring with promtool: rules, two tests for each alert (firing and silent), and every expression
of the dashboard."""

import json
import tempfile

import yaml

from checking import DEPLOY, PACKAGE, Report, expressions, run

FOLDER = DEPLOY / "monitoring"
PROMTOOL = PACKAGE / ".build/checkers/bin/promtool"


def refused(expressions):
    """Returns the errors of promtool for expressions, with Grafana's variables replaced; None if there are none."""
    filled = [one.replace("$__rate_interval", "5m").replace("$app", ".*") for one in expressions]
    rules = {"groups": [{"name": "a", "rules": [{"record": f"a:b{n}", "expr": one} for n, one in enumerate(filled)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(rules, file)
        file.flush()
        status, said = run(str(PROMTOOL), "check", "rules", file.name)
    return None if status == 0 else said


def main():
    report = Report()
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    status, said = run(str(PROMTOOL), "check", "rules", str(FOLDER / "alerts.yaml"))
    report.expect(status == 0, said)
    status, said = run(str(PROMTOOL), "test", "rules", "alerts_test.yaml", cwd=FOLDER)
    report.expect(status == 0, said)
    # One run of promtool for all expressions: it names the rules that it refuses.
    problem = refused([expression for _, expression in expressions(dashboard)])
    for title, _ in expressions(dashboard):
        report.expect(problem is None, f"dashboard, such as {title}: {problem}")
    report.expect(refused(["up", "sum(rate(a[5m])"]) is not None, "promtool takes what is no expression")
    report.end(least=30)


main()
