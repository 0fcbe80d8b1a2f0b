"""Functions that the checks share. A check collects its problems and prints them together at its end."""

import pathlib
import shutil
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = PACKAGE / "deploy"


class Report:
    def __init__(self):
        self.problems = []
        self.counts = {}

    def expect(self, holds, problem):
        """Records a problem unless the condition holds. Counts the conditions, so that a check without any fails."""
        self.counts["checks"] = self.counts.get("checks", 0) + 1
        if not holds:
            self.problems.append(problem)

    def end(self, least):
        for problem in self.problems:
            print(problem, file=sys.stderr)
        count = self.counts.get("checks", 0)
        if count < least:
            sys.exit(f"only {count} things were looked at, of {least} at least: the check itself is broken")
        if self.problems:
            sys.exit(1)
        print(f"{count} things hold")


def expressions(dashboard):
    """Returns the title of the panel and the text of every expression of a dashboard."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def has(program):
    return shutil.which(program) is not None


def run(*words, **options):
    """Runs a program and returns its exit status and its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr
