#!/usr/bin/gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adds nodes to a running DVM, waits until they are there, runs a job on them, and takes them out again.
//
//     grow-and-shrink.js [--name DVM] --hosts LIST PROGRAM [ARGUMENTS]
//
// The DVM has to be elastic: dvm-cli start --elastic. It ends with 125 if anything fails,
// with 141 if nobody reads what it says, else as the job does.

import Dvm from 'gi://Dvm?version=1.0';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';

// Newer releases of GLib have what is of Unix in a library of its own; older ones do not know it.
const lookForStream = () => {
    try {
        return imports.gi.GioUnix.OutputStream;
    } catch (error) {
        return Gio.UnixOutputStream;
    }
};
const output = new (lookForStream())({fd: 1, close_fd: false});
let hasReader = true;

// print() does not tell that nobody reads any more.
function say(line) {
    try {
        output.write_all(new TextEncoder().encode(`${line}\n`), null);
    } catch (error) {
        hasReader = false;
    }
}

// The signal comes to whoever asked and to nobody else: once, and after the answer.
function change(client, begin) {
    const loop = new GLib.MainLoop(null, false);
    let failure = null;
    const end = reason => {
        failure = reason;
        loop.quit();
    };
    const handlers = [
        client.connect('dvm-is-ready', (_client, allocId, _reqId, details) => {
            const {kind, nodes} = details.recursiveUnpack();
            say(`${kind} of ${allocId} is done: ${nodes.join(' ')}`);
            end(null);
        }),
        client.connect('dvm-mod-failed', (_client, allocId, _reqId, status, reason) =>
            end(`${allocId}: ${reason} (status ${status})`)),
        client.connect('notify::connected', () => end('the DVM has ended')),
    ];
    const [, allocId, campaign] = begin();
    // Without a campaign nothing changes, and nothing is told.
    if (campaign !== null) {
        say(`${campaign.get_object_path()} for ${allocId}`);
        loop.run();
    }
    handlers.forEach(handler => client.disconnect(handler));
    if (failure !== null)
        throw new Error(failure);
    return allocId;
}

const request = keys => new GLib.Variant('a{sv}', keys);
const text = value => new GLib.Variant('s', value);

function runJob(client, command, nodes) {
    const app = Dvm.AppSpec.new(command);
    app.set_np(Math.max(nodes.length, 1));
    app.set_cwd(GLib.get_current_dir());
    app.set_hosts(nodes);
    const spec = Dvm.JobSpec.new();
    spec.add_app(app);
    const job = client.submit(spec, null);
    client.wait(job, 0, null);
    client.refresh_job(job, null);
    say(`${job.nspace} ran on ${job.nodes.join(' ')}: ${job.state_name}`);
    if (job.exit_signal)
        return 128 + job.exit_signal;
    return job.exit_code || (job.failed ? 125 : 0);
}

function parse(words) {
    const options = {name: null, hosts: [], command: []};
    while (words.length > 0 && options.command.length === 0) {
        const word = words.shift();
        if (word === '--hosts' && words.length > 0)
            options.hosts = words.shift().split(',');
        else if (word === '--name' && words.length > 0)
            options.name = words.shift();
        else
            options.command = [word, ...words];
    }
    if (options.hosts.length === 0 || options.command.length === 0)
        throw new Error('usage: grow-and-shrink.js [--name DVM] --hosts LIST PROGRAM [ARGUMENTS]');
    return options;
}

let status = 125;
try {
    const {name, hosts, command} = parse([...System.programArgs]);
    const client = Dvm.Client.new(name);
    // Objects of GJS have a connect() of their own, for signals.
    client.connect_sync(null);
    const allocId = change(client, () => client.grow(request({hosts: new GLib.Variant('as', hosts)}), null));
    try {
        status = hasReader ? runJob(client, command, client.find_session(allocId, null).nodes) : 141;
    } finally {
        change(client, () => client.shrink(request({'alloc-id': text(allocId)}), null));
    }
} catch (error) {
    printerr(`grow-and-shrink.js: ${error.message}`);
}
System.exit(status);
