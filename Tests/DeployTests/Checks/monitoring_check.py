"""Validates deploy/monitoring with promtool: rules, two tests for each alert (firing and silent), and every expression
of the dashboard. Also compares it with code and pages: names of metrics, sections of the runbook."""

import json
import pathlib
import re
import tempfile

import yaml

from checking import DEPLOY, PACKAGE, Report, run

FOLDER = DEPLOY / "monitoring"
PROMTOOL = PACKAGE / ".build/checkers/bin/promtool"
NAME = re.compile(r"\bcarillon_[a-z0-9_]+")


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def refused(expressions):
    """Returns the errors of promtool for expressions, with Grafana's variables replaced; None if there are none."""
    filled = [one.replace("$__rate_interval", "5m").replace("$app", ".*") for one in expressions]
    rules = {"groups": [{"name": "a", "rules": [{"record": f"a:b{n}", "expr": one} for n, one in enumerate(filled)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(rules, file)
        file.flush()
        status, said = run(str(PROMTOOL), "check", "rules", file.name)
    return None if status == 0 else said


def metric_names(text):
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in NAME.findall(text)}


def anchor(url):
    return url.split("#")[1]


def headings(page):
    """Returns the anchors of a page's headings, as GitHub generates them."""
    return {
        re.sub(r"[^a-z0-9 _-]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
        for line in page.splitlines()
        if line.startswith("#")
    }


def main():
    report = Report()
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())

    copied = yaml.safe_load((DEPLOY / "kubernetes/components/prometheus/alerts.yaml").read_text())
    report.expect(copied["spec"] == rules, "deploy/kubernetes has other alert rules than deploy/monitoring/alerts.yaml: run deploy/monitoring/render-alerts")

    if PROMTOOL.exists():
        status, said = run(str(PROMTOOL), "check", "rules", str(FOLDER / "alerts.yaml"))
        report.expect(status == 0, said)
        status, said = run(str(PROMTOOL), "test", "rules", "alerts_test.yaml", cwd=FOLDER)
        report.expect(status == 0, said)
        # One run of promtool for all expressions: it names the rules that it refuses.
        problem = refused([expression for _, expression in expressions(dashboard)])
        for title, _ in expressions(dashboard):
            report.expect(problem is None, f"dashboard, such as {title}: {problem}")
        report.expect(refused(["up", "sum(rate(a[5m])"]) is not None, "promtool takes what is no expression")

    tests = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text())["tests"]
    fired = {
        one["alertname"] for test in tests for one in test["alert_rule_test"] if one["exp_alerts"]
    }
    sections = headings((DEPLOY / "operations/runbook.md").read_text())
    for alert in alerts:
        name = alert["alert"]
        report.expect(name in fired, f"no test in which {name} fires")
        report.expect(anchor(alert["annotations"]["runbook"]) in sections, f"runbook.md has no section for {name}")
        report.expect(alert["labels"]["severity"] in ("page", "ticket"), f"{name}: severity")

    # The page with every metric; another test compares this page with the code.
    page = DEPLOY / "operations/metrics.md"
    listed = NAME.findall(page.read_text()) if page.exists() else []
    used = {name for alert in alerts for name in metric_names(alert["expr"])}
    for _, expression in expressions(dashboard):
        used |= metric_names(expression)
    for name in sorted(used) if listed else []:
        report.expect(name in listed, f"{name}: metrics.md has no such metric")
    report.end(least=75)


main()
