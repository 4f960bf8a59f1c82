#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scheduler outside of a DVM: it owns nodes, and decides who gets which of them and for how long.

    scheduler.py --nodes n1:4,n2:4,n3:4 [--start N] [--most N] [--time SECONDS] [--warn SECONDS] [--bus-name NAME]

The DVM is told of it by its setting plugin-settings:

    dvm-cli start --elastic --set plugin-settings=allocator-bus.name=org.example.Scheduler

The DVM starts with --start nodes. A request for nodes gets those of the pool that are free, in their order, or waits for
none: it is refused. Nobody has more than --most nodes, or longer than --time seconds; --warn seconds before that end the
requester is warned, and at the end they are released, with the jobs that are there. Each decision is a line of output.
"""

import argparse
import itertools
import sys

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

OBJECT, INTERFACE = "/org/dvm/Scheduler", "org.dvm.Scheduler"

# Signatures alone: the words are in org.dvm.Scheduler.xml.
DESCRIPTION = """<node><interface name="org.dvm.Scheduler">
  <method name="Decide"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="a{sv}" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="b" direction="out"/><arg type="a{sv}" direction="out"/></method>
  <method name="Allocate"><arg type="a{sv}" direction="in"/><arg type="s" direction="out"/><arg type="a(suu)" direction="out"/></method>
  <method name="GiveBack"><arg type="s" direction="in"/><arg type="as" direction="in"/><arg type="a{sv}" direction="in"/><arg type="b" direction="out"/></method>
  <method name="SessionEnded"><arg type="u" direction="in"/><arg type="s" direction="in"/><arg type="a(uiis)" direction="in"/>
    <arg type="a{sv}" direction="in"/></method>
  <signal name="Push"><arg type="s"/><arg type="a{sv}"/></signal>
</interface></node>"""


class Refused(Exception):
    """Its text is for the requester."""


class Pool:
    """Nodes, and who has which of them."""

    def __init__(self, nodes):
        self.slots = nodes
        self.holder = dict.fromkeys(nodes)

    def take(self, holder, names, count):
        """Those that are named, or so many of the free ones."""
        free = [name for name, other in self.holder.items() if other is None]
        for name in names:
            if name not in self.slots:
                raise Refused(f"{name} is none of the scheduler's nodes")
            if name not in free:
                raise Refused(f"{name} is in use by {self.holder[name]}")
        taken = names or free[:count]
        if len(taken) < count:
            raise Refused(f"{count} nodes are asked for, and {len(free)} are free")
        for name in taken:
            self.holder[name] = holder
        return taken

    def put(self, names):
        """Those of them that were in use."""
        back = [name for name in names if self.holder.get(name) is not None]
        for name in back:
            self.holder[name] = None
        return back

    def count(self, holder):
        return sum(other == holder for other in self.holder.values())


class Scheduler:
    def __init__(self, options, connection):
        self.options = options
        self.connection = connection
        self.pool = Pool(options.nodes)
        self.numbers = itertools.count(1)
        self.timers = {}
        interface = Gio.DBusNodeInfo.new_for_xml(DESCRIPTION).interfaces[0]
        connection.register_object(OBJECT, interface, self.on_call, None, None)

    def say(self, text):
        print(text, flush=True)

    def on_call(self, connection, sender, path, interface, method, arguments, invocation):
        try:
            answer = getattr(self, method)(*arguments.unpack())
        except (Refused, ValueError) as refused:
            self.say(f"refused: {refused}")
            invocation.return_dbus_error("org.dvm.Error.OutOfResource", str(refused))
            return
        invocation.return_value(answer)

    # ---- what the DVM calls ----

    def Allocate(self, request):
        """The nodes of the start; those of a grow have been named by a decision."""
        if request.get("count") or request.get("alloc-id") or request.get("hosts"):
            return GLib.Variant("(sa(suu))", ("", []))
        names = self.pool.take("the DVM", [], self.options.start)
        self.say(f"start: {' '.join(names)}")
        return GLib.Variant("(sa(suu))", ("", [(name, self.pool.slots[name], 0) for name in names]))

    def Decide(self, directive, session, request, requester):
        if directive not in ("new", "extend"):
            self.say(f"{directive} by {requester['name']}")
            return GLib.Variant("(ba{sv})", (True, {}))
        names = [host.partition(":")[0] for host in request.get("hosts", [])]
        count = len(names) or request.get("count", 0)
        holder = f"uid {requester['uid']}"
        if self.pool.count(holder) + count > self.options.most:
            raise Refused(f"{holder} has {self.pool.count(holder)} nodes, and may have {self.options.most}")
        names = self.pool.take(holder, names, count)
        answer = {}
        if names:
            answer["hosts"] = GLib.Variant("as", [f"{name}:{self.pool.slots[name]}" for name in names])
        if directive == "new":
            alloc_id = f"sample.{next(self.numbers)}"
            answer["alloc-id"] = GLib.Variant("s", alloc_id)
            self.limit(alloc_id, min(request.get("time") or self.options.time, self.options.time), answer)
        self.say(f"{directive} by {requester['name']}: {' '.join(names)}")
        return GLib.Variant("(ba{sv})", (True, answer))

    def GiveBack(self, alloc_id, names, options):
        back = self.pool.put(names)
        if back:
            self.say(f"back: {' '.join(back)}")
        return GLib.Variant("(b)", (bool(back),))

    def SessionEnded(self, session, alloc_id, jobs, options):
        for timer in self.timers.pop(alloc_id, ()):
            GLib.source_remove(timer)
        self.say(f"ended: {alloc_id} with {len(jobs)} jobs")

    # ---- what it wants itself ----

    def limit(self, alloc_id, seconds, answer):
        if not seconds:
            return
        warning = min(self.options.warn, seconds)
        answer["time"] = GLib.Variant("u", seconds)
        self.timers[alloc_id] = [self.later(seconds - warning, alloc_id, "warn", seconds=GLib.Variant("u", warning)),
                                 self.later(seconds, alloc_id, "release")]

    def later(self, delay, alloc_id, directive, **keys):
        return GLib.timeout_add(1000 * delay, self.push, directive, dict(keys, **{"alloc-id": GLib.Variant("s", alloc_id)}))

    def push(self, directive, request):
        alloc_id = request["alloc-id"].get_string()
        self.say(f"{directive}: {alloc_id}")
        self.timers[alloc_id].remove(GLib.main_current_source().get_id())
        self.connection.emit_signal(None, OBJECT, INTERFACE, "Push", GLib.Variant("(sa{sv})", (directive, request)))
        return GLib.SOURCE_REMOVE


def read_nodes(text):
    rows = [row.partition(":") for row in text.split(",")]
    if not all(name and (slots.isdigit() or not colon) for name, colon, slots in rows):
        raise argparse.ArgumentTypeError(f"“{text}” are no nodes: write NAME:SLOTS,NAME:SLOTS")
    return {name: int(slots or 1) for name, colon, slots in rows}


def main(options):
    loop = GLib.MainLoop()
    connection = Gio.bus_get_sync(Gio.BusType.SESSION)
    scheduler = Scheduler(options, connection)
    lost = []

    def on_lost(connection, name):
        lost.append(name)
        loop.quit()

    Gio.bus_own_name_on_connection(connection, options.bus_name, Gio.BusNameOwnerFlags.DO_NOT_QUEUE,
                                   lambda connection, name: scheduler.say(f"{name} has {len(options.nodes)} nodes"), on_lost)
    loop.run()
    print(f"scheduler.py: the name {lost[0]} belongs to another program", file=sys.stderr)
    return 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", required=True, type=read_nodes, help="its nodes and their slots: n1:4,n2:4")
    parser.add_argument("--start", type=int, default=1, help="how many the DVM starts with")
    parser.add_argument("--most", type=int, default=1 << 30, help="how many one user may have beside these")
    parser.add_argument("--time", type=int, default=0, help="seconds that an allocation lasts at most; 0: no limit")
    parser.add_argument("--warn", type=int, default=60, help="seconds before that end")
    parser.add_argument("--bus-name", default="org.example.Scheduler", help="its name on the session bus")
    try:
        sys.exit(main(parser.parse_args()))
    except KeyboardInterrupt:
        sys.exit(130)
