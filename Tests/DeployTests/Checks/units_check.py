"""Validates deploy/systemd with systemd's own `verify`, and with `security` and a limit for the exposure level."""

import os
import pathlib
import re
import tempfile

from checking import DEPLOY, Report, has, run

FOLDER = DEPLOY / "systemd"
# Limit of systemd's exposure level (0 to 10), times 10. The rest is the network, which workers need.
EXPOSURE = 15


def prepared(text):
    """Returns a unit as it is installed, but with programs and pages that exist on this machine."""
    program = os.environ.get("CARILLON", "/usr/bin/true")
    text = re.sub(r"^ExecStart=carillon ", f"ExecStart={program} ", text, flags=re.M)
    return re.sub(r"^Documentation=.*\n", "", text, flags=re.M)


def judged(units):
    """Returns the problems that systemd reports for units, given by name."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for name, text in units.items():
            path = pathlib.Path(scratch) / name
            path.write_text(prepared(text))
            paths.append(str(path))
        status, said = run("systemd-analyze", "verify", *paths)
        problems = said if status != 0 or said else ""
        for path in paths:
            if path.endswith(".service"):
                status, said = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", path)
                if status != 0:
                    problems += said.splitlines()[-1]
        return problems


def main():
    report = Report()
    units = {
        path.name.replace("@", "@1"): path.read_text() for path in FOLDER.iterdir() if path.suffix in (".service", ".target")
    }
    report.expect(len(units) == 3, f"units: {sorted(units)}")
    for name, text in units.items():
        report.expect("news" not in re.sub(r"^#.*$", "", text, flags=re.M), f"{name}: names an app")
        if name.endswith(".service"):
            for line in ["PartOf=carillon.target", "WantedBy=carillon.target", "User=carillon", "RestartPreventExitStatus=64 65"]:
                report.expect(line in text, f"{name}: has no {line}")
    worker = units["carillon-worker@1.service"]
    report.expect("Type=notify" in worker and "WatchdogSec=" in worker, "the worker is not watched")
    stop = int(re.search(r"TimeoutStopSec=(\d+)", worker).group(1))
    report.expect(stop > 20, "a worker is killed before worker.deadline (20 s) has passed")
    if has("systemd-analyze"):
        problems = judged(units)
        report.expect(not problems, problems)
        # The check must be able to fail: an unknown value, and a unit without any restriction.
        report.expect(
            judged({"a@1.service": worker.replace("WatchdogSec=60", "WatchdogSec=soon")}), "verify takes what is no time"
        )
        bare = "[Service]\nType=exec\nExecStart=carillon worker\n"
        report.expect("exposure" in judged({"b.service": bare}), "security takes a unit that is open")
    report.end(least=12)


main()
