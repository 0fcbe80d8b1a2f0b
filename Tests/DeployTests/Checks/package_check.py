"""Builds the Debian package twice from the built program and checks it: equal bytes, the right files and owners, a
readable man page for every command, completions that the shells accept, and no finding of lintian."""

import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile

from checking import DEPLOY, Report, has, run

CARILLON = os.environ["CARILLON"]
# Findings of debug builds only: they contain the path of the toolchain's libraries, which `make deb` links in.
OF_DEBUG_BUILDS = ["custom-library-search-path", "running with root privileges"]


def commands(command, path):
    yield "-".join(path)
    for child in command.get("subcommands", []):
        if child.get("shouldDisplay", True) and child["commandName"] != "help":
            yield from commands(child, path + [child["commandName"]])


def built(folder):
    # Only the content matters here, and the lowest compression level takes a third of the time.
    compression = {"CARILLON_PACKAGE_COMPRESSION": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1796115600", **compression}
    status, said = run(str(DEPLOY / "debian/build"), CARILLON, folder, env=environment)
    if status != 0:
        sys.exit(said)
    return next(pathlib.Path(folder).glob("*.deb"))


def main():
    for needed in ["dpkg-deb", "dpkg-shlibdeps", "strip"]:
        if not has(needed):
            print(f"skipped: no {needed}")
            return
    report = Report()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        package = built(first)
        digests = {hashlib.sha256(one.read_bytes()).hexdigest() for one in (package, built(second))}
        report.expect(len(digests) == 1, "two packages of one program differ")

        listing = run("dpkg-deb", "--contents", str(package))[1]
        report.expect(not re.search(r"^\S+ (?!root/root)", listing, re.M), "something does not belong to root")
        for name in [
            "usr/bin/carillon",
            "usr/lib/systemd/system/carillon-worker@.service",
            "usr/lib/systemd/system/carillon-admin.service",
            "usr/lib/systemd/system/carillon.target",
            "usr/lib/sysusers.d/carillon.conf",
            "etc/carillon/carillon.yaml",
            "usr/share/doc/carillon/copyright",
            "usr/share/doc/carillon/deploy/operations/runbook.md",
            "usr/share/doc/carillon/changelog.gz",
        ]:
            report.expect(f" ./{name}\n" in listing, f"the package has no {name}")
        report.expect(re.search(r"^drwxr-x--- .* \./etc/carillon/keys/$", listing, re.M), "everybody may read keys")
        fields = run("dpkg-deb", "--field", str(package))[1]
        report.expect(re.search(r"^Depends: .*libssl3.*ca-certificates", fields, re.M), f"dependencies: {fields}")
        report.expect("@" not in re.sub(r"<.*>|@NAME|worker@", "", fields), f"a blank was not filled in: {fields}")

        root = pathlib.Path(first) / "root"
        run("dpkg-deb", "--extract", str(package), str(root))
        said = run(CARILLON, "--experimental-dump-help")[1]
        names = set(commands(json.loads(said[said.index("{") :])["command"], ["carillon"]))
        pages = {page.name.removesuffix(".1.gz") for page in (root / "usr/share/man/man1").iterdir()}
        report.expect(pages == names and len(names) > 30, f"man pages: {pages ^ names}")
        if has("groff"):
            for page in (root / "usr/share/man/man1").iterdir():
                status, said = run("sh", "-c", f"zcat '{page}' | groff -man -Tutf8 -ww -z")
                report.expect(status == 0 and not said, f"{page.name}: {said}")
        for shell, place in [
            ("bash", "usr/share/bash-completion/completions/carillon"),
            ("zsh", "usr/share/zsh/vendor-completions/_carillon"),
            ("fish", "usr/share/fish/vendor_completions.d/carillon.fish"),
        ]:
            script = root / place
            report.expect(script.stat().st_size > 1000, f"no completions of {shell}")
            if has(shell):
                status, said = run(shell, "-n", str(script))
                report.expect(status == 0, f"{shell}: {said}")
        if has("lintian"):
            said = run("lintian", "--no-cfg", "--fail-on", "none", str(package))[1]
            minded = [line for line in said.splitlines() if line and not any(tag in line for tag in OF_DEBUG_BUILDS)]
            report.expect(not minded, "lintian: " + "; ".join(minded))
    report.end(least=20)


main()
