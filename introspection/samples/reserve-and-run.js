#!/usr/bin/gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sets nodes aside for a limited time, runs a job on them that nobody disturbs, and gives them back.
//
//     reserve-and-run.js [--name DVM] [--time SECONDS] [--warn SECONDS] --hosts LIST PROGRAM [ARGUMENTS]
//
// Hosts that are not in the DVM come, if it is elastic: dvm-cli start --elastic. A job that takes longer gets more time:
// the DVM warns, and the program answers. It ends with 125 if anything fails,
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

const request = keys => new GLib.Variant('a{sv}', keys);
const uint = value => new GLib.Variant('u', value);

function waitFor(client, path) {
    if (path === '/')
        return;
    const campaign = client.find_campaign(path, null);
    client.wait_campaign(campaign, 0, null);
    if (campaign.state !== Dvm.CampaignState.COMPLETED)
        throw new Error(campaign.reason);
}

function reserve(client, options) {
    const answer = client.allocate('new', request({
        hosts: new GLib.Variant('as', options.hosts),
        share: new GLib.Variant('b', false),
        time: uint(options.time),
        'warn-timeout': uint(options.warn),
    }), null).recursiveUnpack();
    waitFor(client, answer.campaign);
    const session = client.find_session(answer['alloc-id'], null);
    say(`${session.get_object_path()} has ${session.nodes.join(' ')}`);
    return session;
}

function runJob(client, session, command) {
    const app = Dvm.AppSpec.new(command);
    app.set_np(session.nodes.length);
    app.set_cwd(GLib.get_current_dir());
    const spec = Dvm.JobSpec.new();
    spec.add_app(app);
    spec.set_target([session.alloc_id]);
    const job = client.submit(spec, null);
    const loop = new GLib.MainLoop(null, false);
    let failure = null;
    // Not client.wait(): the warning comes to the main loop.
    client.wait_async(job, 0, null, (_client, result) => {
        try {
            client.wait_finish(result);
        } catch (error) {
            failure = error;
        }
        loop.quit();
    });
    loop.run();
    if (failure !== null)
        throw failure;
    client.refresh_job(job, null);
    say(`${job.nspace} ran on ${job.nodes.join(' ')}: ${job.state_name}`);
    if (job.exit_signal)
        return 128 + job.exit_signal;
    return job.exit_code || (job.failed ? 125 : 0);
}

function parse(words) {
    const options = {name: null, time: 3600, warn: 60, hosts: [], command: []};
    while (words.length > 0 && options.command.length === 0) {
        const word = words.shift();
        if (word === '--hosts' && words.length > 0)
            options.hosts = words.shift().split(',');
        else if (word === '--name' && words.length > 0)
            options.name = words.shift();
        else if ((word === '--time' || word === '--warn') && words.length > 0)
            options[word.slice(2)] = Number(words.shift());
        else
            options.command = [word, ...words];
    }
    if (options.hosts.length === 0 || options.command.length === 0)
        throw new Error('usage: reserve-and-run.js [--name DVM] [--time S] [--warn S] --hosts LIST PROGRAM [ARGUMENTS]');
    return options;
}

let status = 125;
try {
    const options = parse([...System.programArgs]);
    const client = Dvm.Client.new(options.name);
    client.connect_sync(null);
    const session = reserve(client, options);
    client.connect('alloc-timeout-warning', (_client, _allocId, _reqId, left) => {
        client.extend_session(session, request({time: uint(options.time), 'warn-timeout': uint(options.warn)}), null);
        say(`extended with ${left} s left`);
    });
    try {
        status = hasReader ? runJob(client, session, options.command) : 141;
    } finally {
        const [, campaign] = client.release_session(session, null, null);
        waitFor(client, campaign === null ? '/' : campaign.get_object_path());
        say(`${session.alloc_id} is given back`);
    }
} catch (error) {
    printerr(`reserve-and-run.js: ${error.message}`);
}
System.exit(status);
