"""Compares deploy/monitoring with code and pages: names of metrics, sections of the runbook, tests of the alerts.
`promtool_check.py` validates the expressions."""

import json
import pathlib
import re

import yaml

from checking import DEPLOY, Report, expressions

FOLDER = DEPLOY / "monitoring"
NAME = re.compile(r"\bcarillon_[a-z0-9_]+")


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
