#!/usr/bin/gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shows the nodes and the jobs of a DVM as they come, change and go.
//
//     monitor.js [--name DVM] [--once]
//
// On a terminal the picture is drawn anew in its place; elsewhere each change is a line. It ends on Ctrl-C, and when the
// DVM does. --once: prints what there is, and ends.

import Dvm from 'gi://Dvm?version=1.0';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';

const ESC = '\x1b[';
const SIGINT = 2, SIGTERM = 15, SIGWINCH = 28;
// A person cannot read faster, and a DVM may start thousands of jobs in a second.
const REDRAW_MS = 100;

// Newer releases of GLib have what is of Unix in libraries of its own; older ones do not know these.
const lookFor = name => {
    try {
        return imports.gi[name];
    } catch (error) {
        return null;
    }
};
const watchFd = lookFor('GLibUnix')?.fd_add_full ?? GLib.unix_fd_add_full;
const addSignal = lookFor('GLibUnix')?.signal_add_full ?? GLib.unix_signal_add;
const OutputStream = lookFor('GioUnix')?.OutputStream ?? Gio.UnixOutputStream;

// What others have written must not command the terminal.
const clean = text => text.replace(/\p{Cc}/gu, '?');
// (GJS has no isatty; this function of GLib asks just that.)
const isTerminal = () => GLib.log_writer_supports_color(1);

function describeNode(node) {
    return `node ${clean(node.name)}: ${node.state_name}, ${node.slots} slots`;
}

function describeJob(job) {
    const held = job.held_at ? ` (waits: ${job.held_at})` : '';
    const procs = `${job.num_launched - job.num_terminated}/${job.num_procs}`;
    return [String(job.id).padStart(8), (job.state_name + held).padEnd(24), procs.padStart(9),
        clean(job.command.join(' '))].join('  ');
}

const HEADING = ['JOB'.padStart(8), 'STATE'.padEnd(24), 'PROCESSES'.padStart(9), 'COMMAND'].join('  ');

function printOnce(client) {
    const nodes = client.get_nodes(), jobs = client.get_jobs();
    // The lists are empty until the DVM has answered.
    while (client.connected && !client.loaded)
        GLib.MainContext.default().iteration(true);
    if (!client.loaded)
        throw new Error('the DVM has ended');
    const items = list => Array.from({length: list.get_n_items()}, (_, i) => list.get_item(i));
    items(nodes).forEach(node => print(describeNode(node)));
    print(HEADING);
    items(jobs).forEach(job => print(describeJob(job)));
}

// Calls added(record) and removed(record) as a list changes; each change is one splice, however many come and go.
function follow(list, added, removed) {
    const known = [];
    const onChanged = (_list, position, nRemoved, nAdded) => {
        const fresh = Array.from({length: nAdded}, (_, i) => list.get_item(position + i));
        const gone = new Set(known.splice(position, nRemoved, ...fresh));
        // A splice may take out and put in what stays.
        const stays = new Set(fresh.filter(record => gone.has(record)));
        gone.forEach(record => stays.has(record) || removed(record));
        fresh.forEach(record => stays.has(record) || added(record));
    };
    list.connect('items-changed', onChanged);
    onChanged(list, 0, 0, list.get_n_items());
    return known;
}

// In a pipe: a line for what happens. A signal of a record can be had for one state alone: that is its detail.
function printChanges(client) {
    const tell = (job, what) => print(`job ${job.id} ${what}: ${clean(job.command.join(' '))}`);
    const tellEnd = job => tell(job, `ended as ${job.state_name}`);

    follow(client.get_nodes(), node => print(describeNode(node)), node => print(`node ${clean(node.name)} has left`));
    follow(client.get_jobs(), job => {
        tell(job, `is ${job.state_name}`);
        job.connect('state-changed::RUNNING', () => tell(job, 'runs'));
        job.connect('notify::held-at', () => job.held_at && tell(job, `waits for ${job.held_at}`));
        if (job.ended)
            tellEnd(job);
        else
            job.connect('notify::ended', () => tellEnd(job));
    }, () => {});
}

// {rows, columns} of the terminal
function getSize() {
    try {
        const process = Gio.Subprocess.new(['stty', 'size'],
            Gio.SubprocessFlags.STDIN_INHERIT | Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_SILENCE);
        const [, text] = process.communicate_utf8(null, null);
        const [rows, columns] = text.trim().split(' ').map(Number);
        if (rows > 0 && columns > 0)
            return {rows, columns};
    } catch (error) {
        logError(error, 'stty');
    }
    return {rows: 24, columns: 80};
}

class Picture {
    constructor(client) {
        this._size = getSize();
        this._out = new OutputStream({fd: 1, close_fd: false});
        this._drawn = 0;
        this._timer = 0;
        this._ended = 0;
        this._failed = 0;
        const watch = record => {
            record.connect('notify', () => this._queue());
            this._queue();
        };
        this._nodes = follow(client.get_nodes(), watch, () => this._queue());
        // An ended job leaves the list; its record has been told before how it ended.
        this._jobs = follow(client.get_jobs(), watch, job => {
            this._ended++;
            this._failed += job.failed ? 1 : 0;
            this._queue();
        });
        addSignal(GLib.PRIORITY_DEFAULT, SIGWINCH, () => {
            this._size = getSize();
            this._queue();
            return GLib.SOURCE_CONTINUE;
        });
        this._queue();
    }

    _queue() {
        this._timer ||= GLib.timeout_add(GLib.PRIORITY_DEFAULT, REDRAW_MS, () => {
            this._timer = 0;
            this._draw();
            return GLib.SOURCE_REMOVE;
        });
    }

    _draw() {
        const {rows, columns} = this._size;
        const ended = `${this._ended} jobs have ended, ${this._failed} of them failed`;
        let lines = [...this._nodes.map(describeNode), ended, HEADING, ...this._jobs.map(describeJob)];
        if (lines.length >= rows) {
            const hidden = lines.length - (rows - 2);
            lines = [...lines.slice(0, rows - 2), `... and ${hidden} more lines`];
        }
        // Up to where the last picture began, and in one write, so that it does not flicker.
        const up = this._drawn > 0 ? `${ESC}${this._drawn}A` : '';
        const text = `${up}\r${ESC}J${lines.map(line => `${line.slice(0, columns - 1)}\n`).join('')}`;
        this._out.write_all(new TextEncoder().encode(text), null);
        this._drawn = lines.length;
    }

    finish() {
        this._draw();
    }
}

function run(client) {
    const loop = new GLib.MainLoop(null, false);
    const picture = isTerminal() ? new Picture(client) : null;
    if (picture === null)
        printChanges(client);
    client.connect('notify::connected', () => {
        picture?.finish();
        printerr('monitor.js: the DVM has ended');
        loop.quit();
    });
    // A pipe that nobody reads, or a terminal that has gone: it can be seen without writing to it.
    watchFd(GLib.PRIORITY_DEFAULT, 1, GLib.IOCondition.ERR | GLib.IOCondition.HUP, () => {
        loop.quit();
        return GLib.SOURCE_REMOVE;
    });
    for (const number of [SIGINT, SIGTERM]) {
        addSignal(GLib.PRIORITY_DEFAULT, number, () => {
            loop.quit();
            return GLib.SOURCE_REMOVE;
        });
    }
    loop.run();
}

function parse(words) {
    const options = {name: null, once: false};
    while (words.length > 0) {
        const word = words.shift();
        if (word === '--once')
            options.once = true;
        else if (word === '--name' && words.length > 0)
            options.name = words.shift();
        else
            throw new Error(`"${word}" is not understood; usage: monitor.js [--name DVM] [--once]`);
    }
    return options;
}

try {
    const options = parse([...System.programArgs]);
    const client = Dvm.Client.new(options.name);
    // Objects of GJS have a connect() of their own, for signals.
    client.connect_sync(null);
    if (options.once)
        printOnce(client);
    else
        run(client);
} catch (error) {
    printerr(`monitor.js: ${error.message}`);
    System.exit(125);
}
