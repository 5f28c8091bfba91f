"""Known weaknesses of the packages that are installed, as pip-audit finds them: ``make audit``."""

import json
import subprocess
import sys

NOTHING = "no index of vulnerabilities is reachable from here: nothing was audited"


def verdict(packages):
    """An exit code and a text; where no index knows any of the packages, the text says that nothing is proved."""
    known = [package for package in packages if "vulns" in package]
    if not known:
        return 0, NOTHING
    weak = [package for package in known if package["vulns"]]
    lines = [f"{p['name']} {p['version']}: {', '.join(v['id'] for v in p['vulns'])}" for p in weak]
    lines.append(f"{len(known)} of {len(packages)} packages audited, {len(weak)} with known weaknesses")
    return int(bool(weak)), "\n".join(lines)


def main():
    command = [sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--format", "json", "--timeout", "20"]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        code, text = verdict(json.loads(run.stdout)["dependencies"])
    except ValueError:  # it said nothing: the reason is in its last line
        code, text = 0, f"{NOTHING} ({run.stderr.strip().splitlines()[-1]})"
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
