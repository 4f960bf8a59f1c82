#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people see of placement: the objects of a map, the words of --display, pictures of nodes."""

import json
import os
import re
import sys
from xml.etree import ElementTree

from dvmtest import check, contains, equal, functions, place, run_tests, wait_until

# Two packages of two NUMA nodes each, eight cores of two threads in all.
MACHINE = "package:2 numa:2 core:2 pu:2"
SVG = "{http://www.w3.org/2000/svg}"


def map_rows(here, *args, topology=MACHINE):
    """The rows of dvm-cli map on machines that are only described"""
    result = here.cli("map", "--json", "--topology", topology, *args, "true")
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return json.loads(result.stdout)


def objects(rows):
    return [row["object"] or "" for row in rows]


def test_objects():
    """a map says on which object each rank is, where the policy works by objects"""
    with place() as here:
        equal(objects(map_rows(here, "-n", "5")), [f"core {n}" for n in range(5)])
        equal(objects(map_rows(here, "-n", "4", "--map-by", "hwthread")), [f"hwthread {n}" for n in range(4)])
        equal(objects(map_rows(here, "-n", "5", "--map-by", "numa")), [f"numa {n}" for n in (0, 0, 1, 2, 3)])
        equal(objects(map_rows(here, "-n", "4", "--map-by", "package", "--rank-by", "span")),
              [f"package {n}" for n in (0, 1, 0, 1)])
        equal(objects(map_rows(here, "--map-by", "ppr:1:package", "--bind-to", "core", "--nodes", "2")),
              ["package 0", "package 1"] * 2)
        equal(objects(map_rows(here, "-n", "2", "--map-by", "core", "--bind-to", "none")), ["core 0", "core 1"])
        for policy in ("slot", "node", "ppr:2:node", "pe-list=0,1"):
            equal(objects(map_rows(here, "-n", "2", "--map-by", policy)), ["", ""], policy)
        # The numbers are the logical ones, whatever those of the operating system are.
        rows = map_rows(here, "-n", "4", "--map-by", "core", topology="package:2 core:2 pu:1(indexes=0,2,1,3)")
        equal([(row["object"], row["cpuset"]) for row in rows],
              [("core 0", "0"), ("core 1", "2"), ("core 2", "1"), ("core 3", "3")])
        rows = map_rows(here, "--ranks", "1,3", "-n", "4")
        equal([(row["rank"], row["object"]) for row in rows], [(1, "core 1"), (3, "core 3")])
        result = here.cli("map", "--topology", MACHINE, "-n", "1", "true")
        contains(result.stdout, "core 0")
        equal(here.cli("start", "--bus", "none").returncode, 0)
        job = here.cli("submit", "-n", "1", "--map-by", "core", "sleep", "600").stdout.strip()
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
        equal(objects(here.json("job", "map", job)), ["core 0"])
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
        equal(objects(here.json("job", "map", job)), ["core 0"], "when it has ended")
        equal(here.cli("stop").returncode, 0)


def test_parts_of_one_machine():
    """nodes that share cpus bind nothing that is not asked for, and the map says why"""
    with place() as here:
        equal(here.cli("start", "--nodes", "2", "--slots", "1", "--bus", "none").returncode, 0)
        why = "not bound: its nodes are parts of one machine"
        for words, note in (((), why), (("--map-by", "node"), why), (("--personality", "plain"), ""), (("--bind-to", "none"), ""),
                            (("--bind-to", "core"), "")):
            rows = json.loads(here.cli("map", "--json", "-n", "2", *words, "true").stdout)
            equal([row["note"] for row in rows], [note] * 2, words)
        equal(here.cli("stop").returncode, 0)


def test_large_map():
    """a map of more ranks than one answer takes is asked for in pages, and ends where it ends"""
    with place() as here:
        for n_nodes in (128, 129):
            rows = map_rows(here, "--bind-to", "none", "--nodes", str(n_nodes), topology="package:1 core:512 pu:1")
            equal([row["rank"] for row in rows] == list(range(512 * n_nodes)), True, f"{len(rows)} ranks")
            equal((rows[-1]["node"], rows[-1]["local-rank"]), (f"n{n_nodes - 1}", 511))


def test_devices():
    """a map says which devices each rank has; a message says what would be right"""
    gpus = os.path.join(os.path.dirname(__file__), "..", "offline", "machines", "gpus.xml")
    with place() as here:
        equal(objects(map_rows(here, "--map-by", "device=gpu", topology=gpus)), [f"device nvml{n}" for n in range(4)])
        equal(objects(map_rows(here, "-n", "2", "--map-by", "dev=g:interleave", topology=gpus)), ["device nvml0", "device nvml2"])
        equal(objects(map_rows(here, "--map-by", "device=gpu:NDEV=2", topology=gpus)), ["device nvml0,nvml1", "device nvml2,nvml3"])
        text = here.cli("map", "--picture", "--topology", gpus, "-n", "2", "--map-by", "device=gpu", "true").stdout
        contains(text, "devices: [0] nvml0 [1] nvml1\n")
        with open(gpus) as file:
            text = file.read()
        check('name="eno6"' in text, "a card to be called in another way")
        odd = here.path + "/odd.xml"
        with open(odd, "w") as file:
            file.write(text.replace('name="eno6"', 'name="eno6:span"'))
        equal(objects(map_rows(here, "-n", "1", "--map-by", "device=eno6\\:span:ndev=1", topology=odd)), ["device eno6:span"])
        # Four GPUs and two cores.
        with open(os.path.join(os.path.dirname(gpus), "vendors.xml")) as file:
            lines = [line for line in file if not re.match(r'<object type="(Core|PU)" os_index="[13]"', line)]
        text = "".join(lines).replace("0x0000000f", "0x00000005").replace("0x0000000c", "0x00000004")
        crowded = here.path + "/crowded.xml"
        with open(crowded, "w") as file:
            file.write(re.sub(r'cpuset="0x00000003"', 'cpuset="0x00000001"', text))
        rows = map_rows(here, "--slots", "8", "--map-by", "device=gpu", topology=crowded)
        equal((len(rows), {row["cpuset"] for row in rows}), (4, {""}), "as many as devices, although two have a core")
        rows = map_rows(here, "--slots", "8", "-n", "2", "--map-by", "core", "true", ":", "--map-by", "device=gpu", topology=crowded)
        equal([row["note"] != "" for row in rows], [False, False, True, True, True, True], "a process that is bound has no note")
        for policy, message in (("device=gpu:ndev=3", "it can be 1, 2 or 4"), ("device=gpu:interleave=node", "unknown word"),
                                ("core:shared", "it is for device"), ("device=nvml9", "has no device")):
            result = here.cli("map", "--topology", gpus, "-n", "1", "--map-by", policy, "true")
            check(result.returncode != 0, policy)
            contains(result.stderr, message)


def test_large_files():
    """a machine, or a job, in a file that is too large is refused at once, with the limit; one that is just small enough is read"""
    with open(os.path.join(os.path.dirname(__file__), "..", "offline", "machines", "hybrid.xml")) as file:
        text = file.read()
    begin, mark, end = text.partition("<topology")
    most = 16 << 20
    with place() as here:
        path = os.path.join(here.path, "large.xml")

        def refused(mention, *words):
            result = here.cli("map", *words, "-n", "1", "true")
            check(result.returncode != 0 and len(result.stderr.splitlines()) <= 2, result.stderr)
            contains(result.stderr, mention)

        for more in (0, 1):
            with open(path, "w") as file:
                file.write(f"{begin}<!-- {'x' * (most - len(text) - 9 + more)} -->{mark}{end}")
            equal(os.path.getsize(path), most + more)
            if more:
                refused(f"{path}: a description has {most} bytes at most", "--topology", path)
            else:
                equal(here.cli("map", "--topology", path, "-n", "1", "true").returncode, 0)
        # So large that a DVM would lose the connection.
        refused("and one message takes", *["--topology", path] * 5)
        os.truncate(path, (64 << 20) + 1)
        refused(f"cannot read '{path}': it has more than 64 MiB", "--topology", path)
        for path in (path, "/dev/zero"):
            result = here.cli("run", "--file", path)
            equal((result.returncode, result.stderr), (125, f"dvm-cli: cannot read '{path}': it has more than 64 MiB\n"))


def test_devices_in_use():
    """job procs has the devices of each process, also of a job that has ended; node show has their holders"""
    gpus = os.path.join(os.path.dirname(__file__), "..", "offline", "machines", "gpus.xml")
    with place() as here:
        equal(here.cli("start", "--bus", "none", "--slots", "8", env={"HWLOC_XMLFILE": gpus}).returncode, 0)
        plain = here.cli("submit", "-n", "1", "--bind-to", "none", "sleep", "600").stdout.strip()
        job = here.cli("submit", "-n", "2", "--bind-to", "none", "--map-by", "device=gpu:ndev=2", "sleep", "600").stdout.strip()
        wait_until(lambda: all(row["num-launched"] for row in here.json("jobs")), "they run")
        equal([row["devices"] for row in here.json("job", "procs", job)], ["nvml0,nvml1", "nvml2,nvml3"])
        equal([row["devices"] for row in here.json("job", "procs", "--ranks", "1", job)], ["nvml2,nvml3"])
        contains(here.cli("job", "procs", job).stdout, "nvml2,nvml3\n")
        node = here.json("nodes")[1]["name"]
        held = [f"{name}={job}:{rank}" for name, rank in (("nvml0", 0), ("nvml1", 0), ("nvml2", 1), ("nvml3", 1))]
        devices = here.json("node", "show", node)["devices"]
        equal([text for text in devices if text.startswith("nvml")], held)
        check("mlx5_0=" in devices and "eno6=" in devices, "those that none has")
        free = here.cli("submit", "-n", "1", "--bind-to", "none", "--map-by", "device=mlx5_1", "sleep", "600").stdout.strip()
        wait_until(lambda: all(row["num-launched"] for row in here.json("jobs")), "they run")
        text = here.cli("node", "show", node).stdout
        contains(text, f"nvml3 ({job}:1)")
        contains(text, f"mlx5_1 ({free}:0), ")
        contains(here.cli("nodes", "--columns", "name,devices").stdout, f"nvml3 ({job}:1)")
        equal(here.json("nodes")[0]["devices"], [])
        equal([row["devices"] for row in here.json("job", "procs", plain)], [""])
        check("DEVICES" not in here.cli("job", "procs", plain).stdout, "no column without devices")
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
        equal([row["devices"] for row in here.json("job", "procs", job)], ["nvml0,nvml1", "nvml2,nvml3"], "when it has ended")
        check("nvml0=" in here.json("node", "show", node)["devices"], "it has given them back")
        equal(here.cli("stop", "--force").returncode, 0)


def test_colocate():
    """map, run --display and submit place processes beside those of a job, by --colocate and --npernode or --nperproc"""
    with place() as here:
        equal(here.cli("start", "--nodes", "2", "--slots", "2", "--bus", "none").returncode, 0)
        job = here.cli("submit", "-n", "3", "--map-by", "node", "sleep", "600").stdout.strip()
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 3, "it runs")
        number = job.split("@")[1]
        for words, nodes in ((["--colocate", job], [1, 2, 1]), (["--colocate", number + ":1-2"], [2, 1]),
                             (["--colocate", number, "--npernode", "1"], [1, 2]),
                             (["--colocate", number + ":0", "--nperproc", "2"], [1, 1]),
                             (["--map-by", f"colocate={number}:2:nperproc=1"], [1])):
            rows = json.loads(here.cli("map", "--json", *words, "true").stdout)
            equal([row["node"] for row in rows], [f"node{node}" for node in nodes], words)
        result = here.cli("run", "--colocate", number, "--npernode", "1", "--display", "map", "sh", "-c", "echo $DVM_NODE")
        equal((result.returncode, result.stderr), (0, ""), "--npernode is no spelling of before there")
        contains(result.stdout, "node2")
        for ranks in ("0-3x", "3-1"):
            result = here.cli("map", "--colocate", f"{number}:{ranks}", "true")
            equal(result.returncode, 2, ranks)
            contains(result.stderr, f"map-by: “{ranks}” of colocate")
        for words, sentence in ((["--colocate", "77"], "there is no job “77”"),
                                (["-n", "2", "--colocate", number], "which makes 3"),
                                (["--colocate", number, "--bynode"], f"'--colocate {number}' and '--bynode' contradict each other"),
                                (["--colocate", number, "--host", "node1"], "“hosts” and “colocate” contradict each other"),
                                (["--colocate", number, "--map-by", "node"], "contradict each other"),
                                (["--nperproc", "2"], "--nperproc needs --colocate")):
            result = here.cli("map", *words, "true")
            contains(result.stderr, sentence)
            equal(result.returncode != 0, True, words)
        contains(here.cli("map", "--topology", MACHINE, "--colocate", number, "true").stderr, f"there is no job “{number}”")
        equal(here.cli("start", "--set", "map-by=colocate=1", "--name", "other", "--bus", "none").returncode, 2)
        equal(here.cli("kill", job).returncode, 0)
        equal(here.cli("stop").returncode, 0)
        # The cpus are those of the other job, whatever the DVM has as its default.
        equal(here.cli("start", "--slots", "2", "--bind-to", "core", "--bus", "none").returncode, 0)
        job = here.cli("submit", "-n", "1", "sleep", "600").stdout.strip()
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
        result = here.cli("map", "--json", "--colocate", job, "--nperproc", "100", "true")
        equal({row["cpuset"] for row in json.loads(result.stdout)}, {""}, result.stderr)
        check(all(row["cpuset"] for row in here.json("job", "map", job)), "the other one is bound")
        equal(here.cli("stop", "--force").returncode, 0)


def draw(here, *args, env=None, topology=MACHINE):
    """What map draws, in UTF-8"""
    result = here.cli("map", "--picture", "--topology", topology, *args, "true", env={"LC_ALL": "C.UTF-8", **(env or {})})
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return result.stdout


def test_picture():
    """map --picture draws packages, NUMA nodes and cores with the ranks that are bound to them"""
    with place() as here:
        lines = draw(here, "-n", "5").splitlines()
        equal(lines[:9], ["head: packages 2, NUMA nodes 4, cores 8, hardware threads 16",
                          "┌─ package 0 ───┐", "│ numa 0 [0][1] │", "│ numa 1 [2][3] │", "└───────────────┘",
                          "┌─ package 1 ───┐", "│ numa 2 [4][·] │", "│ numa 3 [·][·] │", "└───────────────┘"])
        contains(draw(here, "-n", "3", "--map-by", "hwthread"), "numa 0 [0|1][2|·]")
        contains(draw(here, "-n", "4", "--map-by", "package", "--bind-to", "package"), "numa 1 [0-1][0-1]")
        contains(draw(here, "-n", "3", "--map-by", "slot", "--bind-to", "none"), "not bound: ranks 0-2")
        # Each node has its own hardware; ranks choose which are drawn.
        text = draw(here, "--topology", "package:1 core:2 pu:1", "--map-by", "ppr:1:node", "--bind-to", "core")
        contains(text, "n001: packages 1, NUMA nodes 1, cores 2, hardware threads 2\n┌─ package 0 ─┐\n│ [1][·]      │\n")
        text = draw(here, "--nodes", "20", "--map-by", "ppr:1:node", "--bind-to", "core")
        equal(text.count("package 0"), 16)
        contains(text, "\n4 more nodes have processes; --ranks chooses")
        text = draw(here, "--nodes", "20", "--map-by", "ppr:1:node", "--bind-to", "core", "--ranks", "19")
        contains(text, "n019: packages 2")
        equal(text.count("package 0"), 1)
        check(text.isascii() is False and draw(here, "-n", "1", env={"LC_ALL": "C"}).isascii(), "signs that the screen has")
        contains(draw(here, "-n", "1", "--color=always"), "[\033[30;42m0\033[0m]")
        result = here.cli("map", "--picture", "--json", "true")
        equal(result.returncode, 2)
        contains(result.stderr, "exclude each other")
        equal(here.cli("start", "--bus", "none").returncode, 0)
        contains(here.cli("map", "--picture", "-n", "1", "true").stdout, "[0]")
        job = here.cli("submit", "-n", "1", "--bind-to", "core", "sleep", "600").stdout.strip()
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
        contains(here.cli("job", "map", "--picture", job).stdout, "[0]")
        equal(here.cli("job", "procs", "--picture", job).returncode, 2)
        equal(here.cli("stop", "--force").returncode, 0)


def svg(here, *args, topology=MACHINE):
    """The root of what map writes as SVG, and the ranks by the title of their core"""
    path = here.path + "/map.svg"
    result = here.cli("map", "--svg", path, "--topology", topology, *args, "true", env={"LC_ALL": "C.UTF-8"})
    equal((result.returncode, result.stdout), (0, ""), f"{args}: {result.stderr}")
    root = ElementTree.parse(path).getroot()
    groups = root.findall(SVG + "g")
    return root, [(group.find(SVG + "title").text, [text.text for text in group.findall(SVG + "text")]) for group in groups]


def test_svg():
    """map --svg writes the same picture as SVG: well-formed, with a legend, on a background of its own"""
    with place() as here:
        root, cells = svg(here, "-n", "5")
        equal(root.tag, SVG + "svg")
        equal(cells, [(f"core {n}: {n}", [str(n)]) if n < 5 else (f"core {n}", []) for n in range(8)])
        texts = [text.text for text in root.iter(SVG + "text")]
        for text in ("head: packages 2, NUMA nodes 4, cores 8, hardware threads 16", "package 1", "numa 3",
                     "a core without ranks"):
            check(text in texts, f"{text}: {texts}")
        equal({element.tag for element in root.iter()}, {SVG + tag for tag in ("svg", "title", "rect", "text", "g")})
        width, height = int(root.get("width")), int(root.get("height"))
        background = root.find(SVG + "rect")
        equal((background.get("width"), background.get("height"), background.get("fill")),
              (str(width), str(height), "#ffffff"))
        for rect in root.iter(SVG + "rect"):
            check(int(rect.get("x", "0")) + int(rect.get("width")) <= width, "inside, from the left to the right")
            check(int(rect.get("y", "0")) + int(rect.get("height")) <= height, "inside, from the top to the bottom")
        # Hardware threads of one core; many ranks on one; ranks that are not bound
        equal(svg(here, "-n", "3", "--map-by", "hwthread")[1][:2], [("core 0: 0-1", ["0", "1"]), ("core 1: 2", ["2"])])
        title, texts = svg(here, "-n", "16", "--map-by", "package", "--rank-by", "span", "--bind-to", "package:overload")[1][0]
        equal((title, texts), ("core 0: 0,2,4,6,8,10,12,14", ["0,2,4,6,8,1…"]))
        root, cells = svg(here, "-n", "3", "--bind-to", "none")
        check("not bound: ranks 0-2" in [text.text for text in root.iter(SVG + "text")], "they are named")
        # Nodes of several kinds, and more than are drawn
        root, cells = svg(here, "--topology", "package:1 core:2 pu:1", "--nodes", "70", "--map-by", "ppr:1:node",
                          "--bind-to", "core")
        equal(len(cells), 8 + 63 * 2)
        check(any("6 more nodes have processes" in text.text for text in root.iter(SVG + "text")), "what is left out")
        # A large machine is as wide as others.
        root, cells = svg(here, "-n", "64", topology="package:2 numa:4 l3cache:2 core:8 pu:2")
        equal(len(cells), 128)
        check(int(root.get("width")) < 1200, root.get("width"))
        result = here.cli("map", "--svg", "-", "--topology", MACHINE, "-n", "1", "true")
        equal(ElementTree.fromstring(result.stdout).tag, SVG + "svg")
        for other in ("--json", "--picture"):
            equal(here.cli("map", "--svg", "x.svg", other, "true").returncode, 2)
        # What the path names is written to, not replaced: a link to a file, a device that is full.
        target, link, full = (os.path.join(here.path, name) for name in ("target", "link", "full"))
        os.symlink(target, link)
        os.symlink("/dev/full", full)
        equal(here.cli("map", "--svg", link, "--topology", MACHINE, "-n", "1", "true").returncode, 0)
        equal(ElementTree.parse(target).getroot().tag, SVG + "svg")
        result = here.cli("map", "--svg", full, "--topology", MACHINE, "-n", "1", "true")
        equal((result.returncode, result.stderr), (1, f"dvm-cli: cannot write '{full}': No space left on device\n"))
        check(os.path.islink(link) and os.path.islink(full), "the links are there")
        result = here.cli("map", "--svg", "/no/such/directory/x.svg", "--topology", MACHINE, "-n", "1", "true")
        equal(result.returncode, 1)
        contains(result.stderr, "/no/such/directory")


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def is_inside(one, other):
    return one[0] >= other[0] and one[1] >= other[1] and one[2] <= other[2] and one[3] <= other[3]


def boxes(root):
    """Left, top, right and bottom of all rectangles in it"""
    sides = [[int(rect.get(key, "0")) for key in ("x", "y", "width", "height")] for rect in root.iter(SVG + "rect")]
    return [(x, y, x + width, y + height) for x, y, width, height in sides]


def test_svg_of_devices():
    """map --svg draws the devices of each rank, in the frame of none, and as wide as the rest"""
    gpus = os.path.join(os.path.dirname(__file__), "..", "offline", "machines", "gpus.xml")
    with place() as here:
        root, cells = svg(here, "-n", "2", "--map-by", "device=gpu:ndev=2", topology=gpus)
        devices = [("device [0] nvml0,nvml1", ["[0] nvml0,nvml1"]), ("device [1] nvml2,nvml3", ["[1] nvml2,nvml3"])]
        equal(cells[-2:], devices)
        root, cells = svg(here, "-n", "40", "--slots", "40", "--bind-to", "none", "--map-by", "device=gpu:shared", topology=gpus)
        equal([texts for title, texts in cells if title.startswith("device")], [[f"[{rank}] nvml{rank // 10}"] for rank in range(40)])
        # Several nodes, and ranks that are not bound
        for args in (("-n", "40", "--slots", "40", "--bind-to", "none", "--map-by", "device=gpu:shared"),
                     ("--nodes", "3", "--bind-to", "none", "--map-by", "device=gpu"), ("-n", "2", "--map-by", "device=nic")):
            root, cells = svg(here, *args, topology=gpus)
            # Cells and devices are in no other one; frames may be around others.
            leaves = [box for group in root.findall(SVG + "g") for box in boxes(group)]
            check(len(leaves) > 8, args)
            for one in boxes(root):
                check(one[2] <= int(root.get("width")) and one[3] <= int(root.get("height")), f"{args}: inside")
                for other in leaves:
                    check(one == other or not overlap(one, other) or (one not in leaves and is_inside(other, one)),
                          f"{args}: {one} and {other}")
            for node in root.findall(SVG + "text"):
                check(not (node.text or "").startswith("not bound") or not any(
                    overlap((int(node.get("x")), int(node.get("y")) - 10, int(node.get("x")) + 50, int(node.get("y"))), leaf)
                    for leaf in leaves), f"{args}: a line of text")
            check(int(root.get("width")) < 1200, root.get("width"))
        check("devices" not in "".join(text.text for text in svg(here, "-n", "2")[0].iter(SVG + "text")), "no frame without devices")


def shown(here, display, *args):
    """What run --display shows of a job that prints nothing"""
    result = here.cli("run", "--personality", "plain", *args, "--display", display, "true", env={"LC_ALL": "C.UTF-8"})
    equal(result.returncode, 0, f"{display}: {result.stderr}")
    equal(result.stderr, "", display)
    return result.stdout


def parsed(text):
    """The elements of what is shown as XML"""
    return {element.tag: element for element in ElementTree.fromstring(f"<all>{text}</all>")}


def test_display():
    """run --display shows what nodes have, and maps in detail, for people and as XML"""
    with place() as here:
        # A private DVM leaves with its job; all of it is shown all the same.
        check("localhost" in shown(here, "map-devel", "-n", "1"), "another name of this machine")
        contains(shown(here, "topo=localhost", "-n", "1"), "─ package 0 ─")
        result = here.cli("run", "-q", "--display", "topo=node9", "touch", here.path + "/touched")
        equal((result.returncode, os.path.exists(here.path + "/touched")), (2, False), result.stderr)
        result = here.cli("run", "-q", "--add-host", "node9", "--display", "topo=node9", "true")
        equal(result.returncode, 125, result.stderr)
        contains(result.stderr, "start one with --elastic")
        text = shown(here, "allocation,topo,cpus,map,map-devel,bindings", "-n", "1", "--bind-to", "core")
        # Words of several options are taken together.
        result = here.cli("run", "-q", "--display", "allocation,topo", "--display", "cpus,map", "--display-devel-map", "--report-bindings",
                          "-n", "1", "--bind-to", "core", "true")
        check(result.returncode == 0 and all(part in result.stdout for part in ("SLOTS  MAX\n", "OBJECT  NOTE\n", "BOUND TO CPUS\n")),
              result.stdout)
        for part in ("SLOTS  MAX\n", "─ package 0 ─", "HARDWARE THREADS\n", "OBJECT  NOTE\n", "Bind to: core\n",
                     "ON NODE", "BOUND TO CPUS\n"):
            contains(text, part)
        result = here.cli("start", "--bus", "none", "--nodes", "2", "--slots", "2")
        equal(result.returncode, 0, result.stderr)
        node1 = ("-n", "1", "--host", "node1", "--bind-to", "core")
        check(shown(here, "topo", *node1).startswith("node1: packages "), "of the job's nodes")
        check(shown(here, "topo=node2;node1", *node1).startswith("node2, node1: packages "), "alike nodes have one picture")
        text = shown(here, "cpus", *node1)
        check(re.match(r"NODE +PACKAGE +CORES +HARDWARE THREADS\nnode1 +0 +0\S* +0", text), text)
        check(text.count("node2") == 0 and shown(here, "cpus=node2", *node1).count("node1") == 0, "the nodes that are named")
        contains(shown(here, "cpus:physical", *node1), "CPUS OF THE SYSTEM")
        text = shown(here, "map-devel", "-n", "2", "--map-by", "node", "--rank-by", "node")
        check(re.search(r"Map by: node\n *Rank by: node\n *Bind to: none\n", text), text)
        check(re.search(r"^node2 +2 +UP +2 +0 ", text, re.MULTILINE), text)
        check(re.search(r"^ +1 +0 +0 +0 +node2 +\d+ ", text, re.MULTILINE), text)
        for word in ("topo=node1;node9", "cpus=node9", "topo=node9:parseable"):
            result = here.cli("run", *node1, "--display", word, "touch", here.path + "/touched")
            equal((result.returncode, result.stdout, os.path.exists(here.path + "/touched")), (2, "", False), word)
            contains(result.stderr, "option --display: 'node9' is no node of the DVM")

        all_words = parsed(shown(here, "map-devel,allocation,topo,cpus,bindings:parseable", *node1))
        equal(set(all_words), {"map", "allocation", "topology", "processors", "bindings"})
        equal([host.attrib for host in all_words["allocation"]],
              [{"name": f"node{n}", "slots": "2", "max_slots": "0"} for n in (1, 2)])
        rank = all_words["map"].find("host/rank")
        equal((rank.get("id"), rank.get("appid"), rank.get("object")), ("0", "0", "core 0"))
        equal(rank.find("process").get("node_rank"), "0")
        equal([core.text for core in rank.findall("binding/package/core")], ["0"])
        equal(all_words["bindings"].find("host/rank/binding").get("cpus"), rank.find("binding").get("cpus"))
        equal(all_words["topology"].get("node"), "node1")
        equal(all_words["topology"].find("core").get("cpus").split("-")[0].split(",")[0], "0")
        equal(all_words["processors"].find("package").get("id"), "0")
        equal(parsed(shown(here, "map:parseable", *node1))["map"].find("host/rank/process"), None)
        for word in ("allocation:physical", ":physical", ":parseable", "topo=", "map=node1", "topology=node1"):
            equal(here.cli("run", "--display", word, "true").returncode, 2, word)
        # As they were called before
        contains(here.cli("run", "-q", "--personality", "plain", *node1, "--display-topo", "true").stdout, "node1: packages")
        contains(here.cli("run", "-q", "--personality", "plain", *node1, "--display-devel-map", "true").stdout, "ON NODE")
        equal(here.cli("stop").returncode, 0)


def policies(here, *args):
    """What map-devel says of the policies: by the programs that they are for"""
    result = here.cli("run", "-q", *args, "--display", "map-devel:parseable", "true")
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return [tuple(row.attrib.values()) for row in parsed(result.stdout)["map"].findall("policy")]


def test_policies():
    """map-devel shows the policies that are heeded: built in, of the DVM, left out, and of each program"""
    plain = ("--personality", "plain")
    with place() as here:
        # More slots than cpus: a binding that nobody has asked for is left out, and with it the way by core.
        equal(here.cli("start", "--bus", "none", "--slots", "4096").returncode, 0)
        equal(policies(here, "-n", "1"), [("0", "core", "fill", "core")])
        equal(policies(here, "-n", "1", *plain), [("0", "slot", "slot", "none")])
        equal(policies(here, "-n", "1", "--map-by", "slot"), [("0", "slot", "slot", "none")])
        equal(policies(here, "-n", "1", "--map-by", ":PE=1"), [("0", "slot:PE=1", "slot", "core")])
        equal(policies(here, "-n", "1", "--bind-to", "hwthread"), [("0", "hwthread", "fill", "hwthread")])
        equal(policies(here, "-n", "1", "--map-by", "core:SPAN"), [("0", "core:SPAN", "span", "core")])
        equal(policies(here, "-n", "512"), [("0", "slot", "slot", "none")])
        apps = ("-n", "1", "--map-by", "core", "true", ":", "-n", "1", "--map-by", "slot", "--bind-to", "none", "true", ":", "-n", "1", "--map-by",
                "slot", "--bind-to", "none")
        result = here.cli("run", "-q", "--display", "map-devel", *apps, "true")
        check(re.search(r"APPS +MAP BY +RANK BY +BIND TO\n0 +core +fill +core\n1-2 +slot +slot +none\n", result.stdout), result)
        equal(here.cli("stop").returncode, 0)
        equal(here.cli("start", "--bus", "none", "--slots", "2", "--map-by", "node", "--bind-to", "core").returncode, 0)
        equal(policies(here, "-n", "1"), [("0", "node", "node", "core")])
        equal(policies(here, "-n", "1", "--map-by", ":SPAN"), [("0", "node:SPAN", "node", "core")])
        equal(here.cli("stop").returncode, 0)


def test_wrong_ranks():
    """ranks that are not there, and what is no list of ranks, are wrong usage"""
    with place() as here:
        for ranks, mention in (("99", "there is no rank 99: the map has 2"), ("0,2-3", "there is no rank 2"), ("0-x", "no number that fits")):
            result = here.cli("map", "--topology", "core:4 pu:1", "-n", "2", "--ranks", ranks, "true")
            equal((result.returncode, result.stdout), (2, ""), ranks)
            contains(result.stderr, mention)
        result = here.cli("map", "--json", "--topology", "core:4 pu:1", "-n", "2", "--ranks", "1-99", "true")
        equal([row["rank"] for row in json.loads(result.stdout)], [1], result.stderr)


def test_display_of_waiting():
    """a job that waits for slots is shown once, when it is placed, and before its output"""
    with place() as here:
        equal(here.cli("start", "--bus", "none", "--slots", "1").returncode, 0)
        first = here.cli("submit", "--personality", "plain", "sleep", "600").stdout.strip()
        run = here.popen("run", "--personality", "plain", "--display", "map,allocation", "sh", "-c", "sleep 0.5; echo the output", text=True)
        wait_until(lambda: any(job["held-at"] == "slots" for job in here.json("jobs")), "the job waits")
        here.cli("kill", first)
        out, err = run.communicate(timeout=60)
        equal(run.returncode, 0, err)
        titles = [line.split()[0] for line in out.splitlines() if line[0].isupper()]
        equal((titles, out.splitlines()[-1]), (["NODE", "RANK"], "the output"), out)
        equal(here.cli("stop").returncode, 0)


def test_do_not_launch():
    """--donotlaunch starts nothing, and shows the map or what --display asks for"""
    with place() as here:
        for args, title in (((), "NOTE"), (("--display", "bindings"), "BOUND TO CPUS"), (("--display", "topo"), "packages")):
            result = here.cli("run", "-q", "--donotlaunch", *args, "-n", "1", "touch", here.path + "/touched")
            equal(result.returncode, 0, result.stderr)
            contains(result.stdout, title, f"{args}")
        check(not os.path.exists(here.path + "/touched"), "nothing is started")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
