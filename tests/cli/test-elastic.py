#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DVMs that grow and shrink, real agents: what the verbs and options say and do."""

import json
import os
import re
import signal
import sys

from dvmtest import alive, check, contains, dvm, equal, functions, place, run_tests, wait_until


def elastic(*options):
    return dvm("--elastic", "--slots=2", *(options or ("--nodes=2",)))


def names(here):
    return [node["name"] for node in here.json("nodes") if node["rank"] > 0]


def change(here, *args):
    """What a verb without --json prints: (allocation, campaign)"""
    result = here.cli(*args)
    equal((result.returncode, result.stderr), (0, ""), f"{args}")
    equal(len(result.stdout.splitlines()), 1, result.stdout)
    return result.stdout.split()


def change_quietly(here, *args):
    """The same, where dvm-cli may have a note"""
    result = here.cli(*args)
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return result.stdout.split()


def refused(here, status, mention, *args):
    result = here.cli(*args)
    equal((result.returncode, result.stdout), (status, ""), f"{args}: {result.stderr}")
    contains(result.stderr, mention, f"{args}")


def interrupt(child, message):
    """Ctrl-C ends dvm-cli by that signal, as a shell wants it, and it says what goes on"""
    child.send_signal(signal.SIGINT)
    equal((child.wait(60), child.stderr.read()), (-signal.SIGINT, "dvm-cli: " + message))


def test_add_host_usage():
    """--add-host and --add-hostfile are checked before anything is asked of a DVM"""
    with place() as here:
        for verb in ("run", "submit"):
            for words, mention in (
                (["--add-host", "n9:x"], "n9:x"),
                (["--add-host", "+n1"], "relative"),
                (["--add-host", "n9,,n10"], "a name is missing"),
                (["--add-host", "^n9"], "no host"),
                (["--add-hostfile", "a", "--add-hostfile", "b"], "once"),
                (["--activate", "n9:x"], "n9:x"),
            ):
                result = here.cli(verb, *words, "true")
                equal((result.returncode, result.stdout), (2, ""), result.stderr)
                contains(result.stderr, mention)
        result = here.cli("map", "--add-host", "n9", "true")
        equal(result.returncode, 2, "a map adds no nodes")


def test_activate():
    """--activate of prun adds the nodes that are not there, and asks for nothing where there is nothing to do"""
    with dvm("--nodes", "2", "--slots", "1", "--elastic") as here:
        for words, names, note in ((("+all",), [], "'--activate +all' is not needed here"), (("node1",), [], "'--add-host node1' today"),
                                   (("n9",), ["n9"], "'--add-host n9' today"),
                                   (("n9,n10", "--add-host", "n11"), ["n9", "n10", "n11"], "'--add-host n11,n9,n10' today")):
            result = here.cli("run", "--activate", *words, "-n", "1", "true")
            equal(result.returncode, 0, f"{words}: {result.stderr}")
            contains(result.stderr, note)
            equal({row["name"] for row in json.loads(here.cli("nodes", "--json").stdout) if row["rank"] > 0}, {"node1", "node2", *names})


def test_usage():
    """which nodes are meant must be said, and in one way"""
    with place() as here:
        for args, mention in (
            (["grow"], "which nodes are to come"),
            (["grow", "--wait", "--req-id", "r"], "which nodes are to come"),
            (["grow", "--hosts", "n9", "--count", "2"], "--count and --hosts"),
            (["grow", "--hostfile", "f", "--count", "2"], "--count and --hostfile"),
            (["grow", "--hostfile", "f", "--hostfile", "g"], "once"),
            (["grow", "--count", "0"], "--count"),
            (["grow", "--hosts", ""], "--hosts"),
            (["grow", "n9"], "n9"),
            (["shrink"], "which nodes are to go"),
            (["shrink", "--req-id", "r", "--drain-timeout", "3"], "which nodes are to go"),
            (["shrink", "--hosts", "n9", "--drain-timeout", "soon"], "--drain-timeout"),
            (["campaign"], "missing"),
            (["campaign", "show"], "campaign is missing"),
            (["campaign", "cancle", "1"], "did you mean 'cancel'?"),
            (["campaign", "explode", "1"], "show and cancel"),
            (["session", "show"], "session is missing"),
            (["session", "shwo", "0"], "did you mean 'show'?"),
            (["session", "list", "0"], "too much"),
        ):
            refused(here, 2, mention, *args)
        refused(here, 2, "UTF-8", "grow", "--hosts", b"n\xff")
        for args in (["grow", "--hosts", "n9"], ["shrink", "--hosts", "n9"], ["campaigns"], ["campaign", "1"], ["sessions"]):
            refused(here, 1, "no DVM is running", *args)


def test_grow_and_shrink():
    """nodes come and go, and come again; --wait ends when they have"""
    with elastic() as here:
        allocation, campaign = change(here, "grow", "--hosts", "n9:3,n10", "--hosts", "n11", "--wait")
        equal(names(here), ["node1", "node2", "n9", "n10", "n11"])
        status = here.json("status")
        equal((status["elastic-mode"], status["campaigns-running"], status["node-count"]), (True, 0, 5))
        contains(here.cli("status").stdout, "elastic, 0 campaigns")
        equal({node["name"]: node["slots"] for node in here.json("nodes")}["n9"], 3)
        record = here.json("campaign", "show", campaign)
        equal((record["kind"], record["state"], record["alloc-id"], record["hosts"], record["pending"], record["cause"]),
              ("grow", "completed", allocation, ["n9", "n10", "n11"], 0, ""))
        contains(here.cli("campaign", campaign).stdout, "n9,n10,n11")
        result = here.cli("run", "--personality", "plain", "--host", "n9", "-n", "3", "sh", "-c", "echo $DVM_NODE")
        equal((result.returncode, result.stdout), (0, "n9\n" * 3), result.stderr)
        pids = [node["pid"] for node in here.json("nodes") if node["name"] == "n10"]
        equal(len(change(here, "shrink", "--hosts", "n10", "--wait")), 2)
        equal(names(here), ["node1", "node2", "n9", "n11"])
        check(not any(map(alive, pids)), "its agent has gone")
        same, campaign = change(here, "shrink", "--alloc-id", allocation, "--wait")
        equal(same, allocation)
        equal(names(here), ["node1", "node2"])
        for _ in range(3):
            change(here, "grow", "--hosts", "n9", "--wait")
            change(here, "shrink", "--hosts", "n9", "--wait")
        equal(names(here), ["node1", "node2"])
        states = [(row["kind"], row["state"]) for row in here.json("campaigns", "--all")]
        equal(states, [("grow", "completed"), ("shrink", "completed"), ("shrink", "completed")]
              + [("grow", "completed"), ("shrink", "completed")] * 3)
        equal(here.json("campaigns"), [])
        text = here.cli("campaigns", "--all").stdout.splitlines()
        check(re.match(r"ID +KIND +STATE +PENDING +ALLOCATION ", text[0].strip()), text[0])
        equal(len(text), 10)


def test_json():
    """--json prints one object, with the record of the campaign if it was followed"""
    with elastic("--nodes=1") as here:
        told = here.json("grow", "--count", "2", "--req-id", "mine", "--wait")
        equal(set(told), {"alloc-id", "req-id", "campaign", "result"})
        equal((told["req-id"], told["result"]["state"], told["result"]["alloc-id"]), ("mine", "completed", told["alloc-id"]))
        equal(told["result"]["hosts"], ["node2", "node3"], "counting goes on")
        told = here.json("grow", "--hosts", "n9", "--of-req-id", "mine")
        equal(set(told), {"alloc-id", "req-id", "campaign"})
        number = told["campaign"].rpartition("/")[2]
        wait_until(lambda: here.json("campaign", told["campaign"])["state"] == "completed", "it grows")
        equal(here.json("campaign", "show", number)["alloc-id"], told["alloc-id"])
        sessions = {row["id"]: row for row in here.json("sessions")}
        equal(sorted(sessions), [0, 1])
        equal((sessions[1]["alloc-id"], sessions[1]["request-id"]), (told["alloc-id"], "mine"))
        equal(sessions[1]["nodes"], ["node2", "node3", "n9"])
        for reference in (told["alloc-id"], "1", "/org/dvm/sessions/1"):
            equal(here.json("session", "show", reference)["nodes"], sessions[1]["nodes"], reference)
        equal(here.json("session", "show", "0")["id"], 0)
        contains(here.cli("session", "list").stdout, told["alloc-id"])
        contains(here.cli("session", "show", "1").stdout, "node2,node3,n9")
        told = here.json("shrink", "--of-req-id", "mine", "--req-id", "back", "--wait")
        equal((told["req-id"], told["result"]["kind"], told["result"]["state"]), ("back", "shrink", "completed"))
        equal(names(here), ["node1"])
        refused(here, 1, "99", "campaign", "show", "99")
        refused(here, 1, "nobody", "session", "show", "nobody")


def test_hostfile():
    """a hostfile names nodes with their slots, for a grow and for a job; a list chooses among them"""
    with elastic("--nodes=1") as here:
        with open(here.path + "/more", "w") as file:
            file.write("n9 slots=3 max_slots=4\nn10 slots=1\nn11\n^n11\n")
        result = here.cli("grow", "--hostfile", "more", "--hosts", "n9", "--wait", cwd=here.path)
        equal(result.returncode, 0, result.stderr)
        equal(names(here), ["node1", "n9"])
        result = here.cli("grow", "--hostfile", "more", "--wait", cwd=here.path)
        equal((result.returncode, names(here)), (0, ["node1", "n9", "n10"]), "n9 is there already")
        slots = {node["name"]: (node["slots"], node["slots-max"]) for node in here.json("nodes")}
        equal((slots["n9"], slots["n10"]), ((3, 4), (1, 0)))
        job = {"personality": "plain", "argv": ["sh", "-c", "echo $DVM_NODE"], "np": 2, "hosts": ["n12"], "add-hosts": ["n12:2"]}
        result = here.cli("run", "--file", "-", stdin=json.dumps(job))
        equal((result.returncode, result.stdout), (0, "n12\nn12\n"), result.stderr)
        refused(here, 1, "n13", "grow", "--hostfile", here.path + "/more", "--hosts", "n13")
        refused(here, 1, "/no/such/file", "grow", "--hostfile", "/no/such/file")


def test_nothing_changes():
    """a node that is there is no change: no campaign, and nothing to wait for"""
    with elastic() as here:
        result = here.cli("grow", "--hosts", "node1", "--wait")
        equal((result.returncode, result.stdout.split()[1]), (0, "-"), result.stderr)
        contains(result.stderr, "no node comes: the DVM has these nodes already")
        equal(here.json("grow", "--hosts", "node1")["campaign"], "/")
        equal(here.cli("grow", "--hosts", "node1", "--quiet").stderr, "")
        equal(here.json("campaigns", "--all"), [])


def test_refused():
    """what cannot be is refused at once, with a sentence, and makes no campaign"""
    with elastic() as here:
        controller = here.json("nodes")[0]["name"]
        hostfile = here.path + "/more"
        with open(hostfile, "w") as file:
            file.write("n9\nn10 slots=no\n")
        for args, mention in (
            (["grow", "--hosts", "n9:x"], "n9:x"),
            (["grow", "--hosts", "+n1"], "relative"),
            (["grow", "--hostfile", hostfile], hostfile + ":2: "),
            (["grow", "--hosts", "n9", "--alloc-id", "none-such"], "none-such"),
            (["grow", "--hosts", "n9", "--of-req-id", "none-such"], "none-such"),
            (["shrink", "--hosts", "n9"], "n9"),
            (["shrink", "--hosts", "node1,n9"], "n9"),
            (["shrink", "--hosts", controller], controller),
            (["shrink", "--alloc-id", "none-such"], "none-such"),
            (["shrink", "--of-req-id", "none-such"], "none-such"),
        ):
            refused(here, 1, mention, *args)
        equal(here.json("campaigns", "--all"), [])
        equal(names(here), ["node1", "node2"])


def fake_ssh(here):
    """A command like ssh for which everything is on this machine, but hosts that say otherwise."""
    path = here.path + "/fake-ssh"
    with open(path, "w") as file:
        file.write("""#!/bin/sh
case $1 in
    far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    hangs*) echo $$ >>PLACE/hanging; exec sleep 600 ;;
esac
exec sh -c "$2"
""".replace("PLACE", here.path))
    os.chmod(path, 0o755)
    return "--set=launcher-command=" + path


class WithSsh:
    """A DVM by dvm-cli start over a fake ssh."""

    def __enter__(self):
        self.place = place()
        here = self.place.__enter__()
        result = here.cli("start", "--bus", "none", "--elastic", "--host", "one,two", "--slots", "1", fake_ssh(here))
        equal((result.returncode, result.stdout), (0, "DVM ready\n"), result.stderr)
        self.here = here
        return here

    def __exit__(self, *args):
        try:
            equal(self.here.cli("stop").returncode, 0)
        finally:
            self.place.__exit__(*args)


def test_failed():
    """a grow that fails ends --wait with 1 and the cause, and leaves the DVM as it was"""
    with WithSsh() as here:
        result = here.cli("grow", "--hosts", "three,far", "--wait")
        equal((result.returncode, len(result.stdout.split())), (1, 2), result.stderr)
        contains(result.stderr, "launch-failed")
        contains(result.stderr, "No route to host")
        equal(names(here), ["one", "two"])
        record = here.json("campaign", result.stdout.split()[1])
        equal((record["state"], record["cause"]), ("failed", "launch-failed"))
        shown = here.json("top", "--all")["campaigns"][0]
        equal((shown["state"], shown["done"], shown["total"]), ("failed", 0, 2), "none of its nodes has come")
        result = here.cli("grow", "--hosts", "far", "--wait", "--json")
        equal((result.returncode, json.loads(result.stdout)["result"]["state"]), (1, "failed"))
        change(here, "grow", "--hosts", "three", "--wait")
        equal(names(here), ["one", "two", "three"])


def test_cancel():
    """a grow that hangs is called off; the job that waits for it says so meanwhile"""
    with WithSsh() as here:
        # The shrink of its node lasts until it ends.
        busy = here.cli("submit", "--personality", "plain", "--host", "two", "-n", "1", "sleep", "1000").stdout.strip()
        wait_until(lambda: here.json("job", "show", busy)["state"] == "RUNNING", "it runs")
        waiting = here.popen("grow", "--hosts", "three,hangs", "--wait", text=True)
        wait_until(lambda: here.json("campaigns"), "it begins")
        campaign = str(here.json("campaigns")[0]["id"])
        job = here.cli("submit", "--personality", "plain", "-n", "1", "true").stdout.strip()
        wait_until(lambda: here.json("job", "show", job)["held-at"] == "map", "it is held")
        record = here.json("job", "show", job)
        equal((record["state"], record["waits-for"]), ("WAITING_FOR_DAEMONS", ["/org/dvm/campaigns/" + campaign]))
        contains(here.cli("jobs").stdout, f"waiting for campaign {campaign}")
        contains(here.cli("job", "show", job).stdout, f"campaign {campaign}")
        equal(here.json("campaign", campaign)["held-jobs"], ["/org/dvm/jobs/" + str(record["id"])])
        contains(here.cli("campaigns").stdout, "running")
        refused(here, 1, "three", "grow", "--hosts", "three")
        interrupted = here.popen("shrink", "--hosts", "two", "--drain-timeout", "600", "--wait", text=True)
        interrupted.stdout.readline()
        interrupt(interrupted, "campaign 2 goes on; 'dvm-cli campaign show 2' shows how far it is\n")
        also = here.popen("grow", "--hosts", "hangs-too", "--wait", text=True)
        number = also.stdout.readline().split()[1]
        interrupt(also, f"campaign {number} goes on; 'dvm-cli campaign show {number}' shows how far it is, "
                        f"'dvm-cli campaign cancel {number}' calls it off\n")
        equal(here.json("campaign", number)["state"], "running")
        equal(here.cli("campaign", "cancel", number).returncode, 0)
        equal(here.cli("kill", busy).returncode, 0)
        wait_until(lambda: "two" not in names(here), "who stops waiting stops nothing")
        equal(here.cli("campaign", "cancel", campaign).returncode, 0)
        output, error = waiting.communicate(timeout=60)
        equal(waiting.returncode, 1, error)
        contains(error, "cancelled")
        equal(names(here), ["one"])
        equal(here.cli("wait", job).returncode, 125, "it would have been placed on those nodes")
        refused(here, 1, campaign, "campaign", "cancel", campaign)
        with open(here.path + "/hanging") as file:
            for pid in map(int, file.read().split()):
                if alive(pid):
                    os.kill(pid, signal.SIGKILL)


def test_add_host():
    """nodes come with a job, and stay; when they do not come it never runs"""
    with WithSsh() as here:
        result = here.cli("run", "--personality", "plain", "--add-host", "three:2,two", "--host", "three", "-n", "2", "sh",
                          "-c", "echo $DVM_NODE")
        equal((result.returncode, result.stdout), (0, "three\nthree\n"), result.stderr)
        equal(names(here), ["one", "two", "three"])
        hostfile = here.path + "/more"
        with open(hostfile, "w") as file:
            file.write("four slots=3\n")
        result = here.cli("run", "--personality", "plain", "--add-hostfile", "more", "-n", "7", "sh", "-c", "echo $DVM_NODE",
                          cwd=here.path)
        equal((result.returncode, sorted(result.stdout.split())), (0, sorted(["one", "two"] + ["three"] * 2 + ["four"] * 3)),
              result.stderr)
        result = here.cli("run", "--personality", "plain", "--add-host", "far,five", "touch", here.path + "/ran")
        equal((result.returncode, result.stdout), (125, ""))
        contains(result.stderr, "No route to host")
        check(not os.path.exists(here.path + "/ran"), "it never ran")
        wait_until(lambda: names(here) == ["one", "two", "three", "four"], "none of them stays")


def test_drain():
    """--drain-timeout lets a job end first; without it the job fails with the campaign as its reason"""
    with elastic() as here:
        def on_node2(*command):
            job = here.cli("submit", "--personality", "plain", "--host", "node2", "-n", "1", *command).stdout.strip()
            wait_until(lambda: here.json("job", "show", job)["state"] == "RUNNING", "it runs")
            return job
        go = here.path + "/go"
        job = on_node2("sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
        waiting = here.popen("shrink", "--hosts", "node2", "--drain-timeout", "60", "--wait", "--json", text=True)
        wait_until(lambda: here.json("campaigns"), "it begins")
        row = here.json("campaigns")[0]
        equal((row["kind"], row["state"], row["hosts"]), ("shrink", "waiting", ["node2"]))
        line = [line for line in here.cli("nodes", "--flat").stdout.splitlines() if " node2 " in line][0]
        contains(line, f"leaves with campaign {row['id']}")
        elsewhere = here.cli("run", "--personality", "plain", "-n", "2", "sh", "-c", "echo $DVM_NODE")
        equal((elsewhere.returncode, elsewhere.stdout), (0, "node1\nnode1\n"), elsewhere.stderr)
        with open(go, "w"):
            pass
        output, error = waiting.communicate(timeout=60)
        equal((waiting.returncode, json.loads(output)["result"]["state"]), (0, "completed"), error)
        equal(here.cli("wait", job).returncode, 0)
        equal(names(here), ["node1"])
        change(here, "grow", "--hosts", "node2:2", "--wait")
        job = on_node2("sleep", "600")
        campaign = change(here, "shrink", "--hosts", "node2", "--wait")[1]
        result = here.cli("wait", job)
        equal(result.returncode, 125)
        check(re.search(rf"\b(campaign|campaigns/|shrink) ?{campaign}\b", result.stderr), result.stderr)


def test_events():
    """campaigns and nodes are told of by their numbers and names"""
    with elastic() as here:
        follow = here.popen("events", "--kind", "campaign", "--json", "--count", "2", text=True)
        wait_until(lambda: alive(follow.pid), "it follows")
        campaign = None

        def followed():
            nonlocal campaign
            campaign = change(here, "grow", "--hosts", "n9", "--wait")[1]
            change(here, "shrink", "--hosts", "n9", "--wait")
            return follow.poll() is not None
        wait_until(followed, "two changes are told")
        events = [json.loads(line) for line in follow.stdout]
        equal({event["kind"] for event in events}, {"campaign"})
        check(all(event["name"] == str(event["id"]) for event in events), events)


def test_not_elastic():
    """a DVM that is not elastic refuses a job that would add nodes, and says so"""
    with dvm("--nodes=1", "--slots=1") as here:
        result = here.cli("run", "--personality", "plain", "--add-host", "n9", "true")
        equal((result.returncode, result.stdout), (125, ""), result.stderr)
        check(result.stderr != "", "a sentence")
        hostfile = here.path + "/more"
        with open(hostfile, "w") as file:
            file.write("n9 slots=2\nn10 slots=no\n")
        result = here.cli("run", "--personality", "plain", "--add-hostfile", "more", "true", cwd=here.path)
        equal(result.returncode, 125)
        contains(result.stderr, hostfile + ":2: ")
        equal(here.json("status")["elastic-mode"], False)
        for args in (["grow", "--hosts", "n9"], ["shrink", "--hosts", "node1"]):
            refused(here, 1, "elastic", *args)
        equal(names(here), ["node1"])


def test_more_slots():
    """h:+N and slots=+N: slots that a node has beside its own, until its allocation is given back"""
    def slots():
        return {node["name"]: node["slots"] for node in here.json("nodes") if node["rank"] > 0}

    with elastic() as here:
        allocation, campaign = change_quietly(here, "grow", "--hosts", "node2:+3,n9:+1", "--wait")
        equal(slots(), {"node1": 2, "node2": 5, "n9": 1}, "one that is new has so many")
        result = here.cli("run", "--personality", "plain", "--host", "node2", "-n", "5", "sh", "-c", "echo $DVM_NODE")
        equal((result.returncode, result.stdout), (0, "node2\n" * 5), result.stderr)
        job = here.cli("submit", "--personality", "plain", "--wait-for-slots", "--host", "node1", "-n", "3", "true").stdout.strip()
        with open(here.path + "/more", "w") as file:
            file.write("node1 slots=+1\n")
        change_quietly(here, "grow", "--hostfile", here.path + "/more")
        equal(here.cli("wait", job).returncode, 0)
        with open(here.path + "/most", "w") as file:
            file.write("node1 slots=+1 max_slots=9\n")
        refused(here, 1, "node1 is in the DVM, and the most slots that it may have stay", "grow", "--hostfile", here.path + "/most")
        refused(here, 1, "no room for 2147483647 more", "grow", "--hosts", "node2:+2147483647")
        refused(here, 1, "to be added", "grow", "--hosts", "node2:+1,node2:2")
        refused(here, 1, "do not change", "grow", "--hosts", "node2:-1")
        equal(slots(), {"node1": 3, "node2": 5, "n9": 1}, "what is refused changes nothing")
        result = here.cli("run", "--personality", "plain", "--add-host", "node2:+1", "--host", "node2", "-n", "6", "true")
        equal(result.returncode, 0, result.stderr)
        change_quietly(here, "grow", "--alloc-id", allocation, "--hosts", "node2:+2")
        equal(slots()["node2"], 8)
        change_quietly(here, "shrink", "--alloc-id", allocation, "--wait")
        equal(slots(), {"node1": 3, "node2": 3}, "what another allocation has added stays")
        check(campaign, "n9 came by a campaign")
    with dvm("--nodes=2", "--elastic", "--set=heal=false") as here:
        own = slots()["node1"]
        result = here.cli("grow", "--hosts", "node1:+1")
        equal(result.stderr, "dvm-cli: slots are added, and no node comes: the DVM has these nodes already, and they are in the allocation now\n")
        allocation = result.stdout.split()[0]
        equal(slots()["node1"], own + 1)
        change_quietly(here, "shrink", "--alloc-id", allocation, "--wait")
        equal(slots()["node1"], own)
        result = here.cli("run", "--personality", "plain", "--host", f"node1:{own + 2}", "-n", str(own + 2), "true")
        equal(result.returncode, 0, f"slots that nobody gave are no limit, also afterwards: {result.stderr}")
        os.kill(next(node["pid"] for node in here.json("nodes") if node["name"] == "node2"), signal.SIGKILL)
        wait_until(lambda: next(node["state"] for node in here.json("nodes") if node["name"] == "node2") == "DOWN", "node2 to be lost")
        refused(here, 1, "node2 is down: slots are added to nodes that are up", "grow", "--hosts", "node2:+1")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
