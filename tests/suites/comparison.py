# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that run under two launchers, and where these differ."""
import os

OUTCOMES = BOTH_PASS, BOTH_FAIL, HERE_ALONE, THERE_ALONE = "passes both", "fails both", "fails here alone", "fails there alone"
ONE_PASSES = "passes here"
AGAIN = 2  # times that a test which fails here alone is run once more before it is believed


def tell(outcome, test, names=()):
    print(f"{outcome:18}{test.name}{': ' + ', '.join(sorted(names)) if names else ''}", flush=True)


class Comparison:
    """All tests by both launchers, and how many of their cases ended how."""

    def __init__(self, here, there, quick, folder):
        self.here, self.there, self.quick = here, there, quick
        self.folder = os.path.join(folder, "failures")
        os.makedirs(self.folder, exist_ok=True)
        self.names = {outcome: [] for outcome in OUTCOMES}
        self.n_passed = 0

    def run(self, side, test):
        """(number of cases, names of those that failed); what a failed run wrote is kept."""
        status, out, err = side.run(test)
        n_cases, failed = test.judge(test, status, out, err)
        if failed:
            with open(os.path.join(self.folder, f"{test.name.replace('/', '-').replace(' ', '_')}.{side.name}"), "w") as file:
                file.write(f"status: {status}\n--- standard output\n{out}\n--- standard error\n{err}\n")
        return n_cases, failed

    def compare(self, test):
        n_cases, here = self.run(self.here, test)
        there = set()
        if here or not self.quick:
            there = self.run(self.there, test)[1]
        for _ in range(AGAIN):
            if not here - there:
                break
            tell("again", test, here - there)
            here &= there | self.run(self.here, test)[1]
            there |= self.run(self.there, test)[1]
        self.count(test, n_cases, here, there)

    def count(self, test, n_cases, here, there):
        self.n_passed += max(0, n_cases - len(here | there))
        for outcome, names in zip(OUTCOMES[1:], (here & there, here - there, there - here)):
            self.names[outcome] += names
            if names:
                tell(outcome, test, names)
        if not here | there:
            tell(ONE_PASSES if self.quick else BOTH_PASS, test)

    def print_table(self, left_out, seconds):
        print(f"\n{ONE_PASSES if self.quick else BOTH_PASS:18}{self.n_passed:6}")
        for outcome in OUTCOMES[1:]:
            print(f"{outcome:18}{len(self.names[outcome]):6}  {', '.join(sorted(self.names[outcome]))}".rstrip())
        for why, tests in sorted(left_out.items()):
            print(f"{why:18}{len(tests):6}  {', '.join(test.name for test in tests)}")
        print(f"{seconds:.0f} s")
