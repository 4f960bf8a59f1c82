#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scheduler outside of a DVM: it owns nodes, and decides who gets which of them and for how long.

    scheduler.py --nodes n1:4,n2:4,n3:4 [--start N] [--most N] [--time SECONDS] [--warn SECONDS] [--bus-name NAME]

The DVM is told of it by its setting plugin-settings:

    dvm-cli start --elastic --set plugin-settings=allocator-bus.name=org.example.Scheduler

The DVM starts with --start nodes. A request for nodes gets those of the pool that are free, in their order, or waits for
none: it is refused. Nobody has more than --most nodes, or longer than --time seconds; --warn seconds before that end the
requester is warned, and at the end they are released, with the jobs that are there. Several DVMs may ask: what one of them has
is free when it has ended. Each decision is a line of output.
"""

import argparse
import itertools
import signal
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
    """Nodes, and who has which of them: a DVM, by its name on the bus, and what for."""

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
                raise Refused(f"{name} is in use by {self.holder[name][1]}")
        taken = names or free[:count]
        if len(taken) < count:
            raise Refused(f"{count} nodes are asked for, and {len(free)} are free")
        for name in taken:
            self.holder[name] = holder
        return taken

    def put(self, dvm, names):
        """Those of them that this DVM had."""
        back = [name for name in names if self.holder.get(name) and self.holder[name][0] == dvm]
        for name in back:
            self.holder[name] = None
        return back

    def count(self, user):
        return sum(bool(holder) and holder[1] == user for holder in self.holder.values())


class Scheduler:
    def __init__(self, options, connection):
        self.options = options
        self.connection = connection
        self.pool = Pool(options.nodes)
        self.numbers = itertools.count(1)
        self.timers = {}  # of each allocation: its DVM, and the timers that run
        self.watches = {}  # of each DVM
        interface = Gio.DBusNodeInfo.new_for_xml(DESCRIPTION).interfaces[0]
        connection.register_object(OBJECT, interface, self.on_call, None, None)

    def say(self, text):
        print(text, flush=True)

    def on_call(self, connection, sender, path, interface, method, arguments, invocation):
        before = dict(self.pool.holder)
        if sender not in self.watches:
            self.watches[sender] = Gio.bus_watch_name_on_connection(connection, sender, Gio.BusNameWatcherFlags.NONE, None, self.on_gone)
        try:
            answer = getattr(self, method)(sender, *arguments.unpack())
        except Exception as error:  # the DVM waits for an answer, whatever is wrong here
            self.pool.holder = before
            self.say(f"refused: {error}" if isinstance(error, Refused) else f"failed: {error!r}")
            name = "OutOfResource" if isinstance(error, Refused) else "AllocFailed"
            invocation.return_dbus_error(f"org.dvm.Error.{name}", str(error))
            return
        invocation.return_value(answer)

    def on_gone(self, connection, dvm):
        """Nobody gives back what a DVM had that has ended."""
        Gio.bus_unwatch_name(self.watches.pop(dvm))
        for alloc_id in [alloc_id for alloc_id, (owner, _) in self.timers.items() if owner == dvm]:
            self.forget(alloc_id)
        self.say(f"gone: {dvm} with {' '.join(self.pool.put(dvm, list(self.pool.slots)))}")

    # ---- what a DVM calls ----

    def Allocate(self, dvm, request):
        """The nodes of the start; those of a grow have been named by a decision."""
        if request.get("count") or request.get("alloc-id") or request.get("hosts"):
            return GLib.Variant("(sa(suu))", ("", []))
        names = self.pool.take((dvm, "a DVM"), [], self.options.start)
        self.say(f"start: {' '.join(names)}")
        return GLib.Variant("(sa(suu))", ("", [(name, self.pool.slots[name], 0) for name in names]))

    def Decide(self, dvm, directive, session, request, requester):
        if directive not in ("new", "extend", "reaquire"):
            self.say(f"{directive} by {requester['name']}")
            return GLib.Variant("(ba{sv})", (True, {}))
        names = [host.partition(":")[0] for host in request.get("hosts", [])]
        count = len(names) or request.get("count", 0)
        user = f"uid {requester['uid']}"
        if not count:
            raise Refused(f"“{directive}” gets nodes here, and no time: name them in hosts, or say how many")
        if self.pool.count(user) + count > self.options.most:
            raise Refused(f"{user} has {self.pool.count(user)} nodes, and may have {self.options.most}")
        names = self.pool.take((dvm, user), names, count)
        answer = {"hosts": GLib.Variant("as", [f"{name}:{self.pool.slots[name]}" for name in names])}
        if directive == "new":
            alloc_id = f"sample.{next(self.numbers)}"
            answer["alloc-id"] = GLib.Variant("s", alloc_id)
            self.limit(dvm, alloc_id, min(request.get("time") or self.options.time, self.options.time), answer)
        self.say(f"{directive} by {requester['name']}: {' '.join(names)}")
        return GLib.Variant("(ba{sv})", (True, answer))

    def GiveBack(self, dvm, alloc_id, names, options):
        back = self.pool.put(dvm, names)
        if back:
            self.say(f"back: {' '.join(back)}")
        return GLib.Variant("(b)", (bool(back),))

    def SessionEnded(self, dvm, session, alloc_id, jobs, options):
        self.forget(alloc_id)
        self.say(f"ended: {alloc_id} with {len(jobs)} jobs")

    # ---- what it wants itself ----

    def limit(self, dvm, alloc_id, seconds, answer):
        if not seconds:
            return
        warning = min(self.options.warn, seconds)
        answer["time"] = GLib.Variant("u", seconds)
        self.timers[alloc_id] = (dvm, [])
        self.later(seconds - warning, alloc_id, "warn", seconds=GLib.Variant("u", warning))
        self.later(seconds, alloc_id, "release")

    def later(self, delay, alloc_id, directive, **keys):
        request = dict(keys, **{"alloc-id": GLib.Variant("s", alloc_id)})
        self.timers[alloc_id][1].append(GLib.timeout_add_seconds(delay, self.push, alloc_id, directive, request))

    def push(self, alloc_id, directive, request):
        """To the DVM whose allocation it is: all that listen would obey a broadcast."""
        dvm, timers = self.timers[alloc_id]
        self.say(f"{directive}: {alloc_id}")
        timers.remove(GLib.main_current_source().get_id())
        self.connection.emit_signal(dvm, OBJECT, INTERFACE, "Push", GLib.Variant("(sa{sv})", (directive, request)))
        return GLib.SOURCE_REMOVE

    def forget(self, alloc_id):
        for timer in self.timers.pop(alloc_id, (None, ()))[1]:
            GLib.source_remove(timer)


def read_nodes(text):
    rows = [row.partition(":") for row in text.split(",")]
    if not all(name and (slots.isdigit() or not colon) for name, colon, slots in rows):
        raise argparse.ArgumentTypeError(f"“{text}” are no nodes: write NAME:SLOTS,NAME:SLOTS")
    return {name: int(slots or 1) for name, colon, slots in rows}


def main(options):
    loop = GLib.MainLoop()
    connection = Gio.bus_get_sync(Gio.BusType.SESSION)
    # A reader that goes ends this program. GLib has just had the signal ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
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
    except GLib.Error as error:
        print(f"scheduler.py: there is no session bus: {error.message}", file=sys.stderr)
        sys.exit(1)
