/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Submits a job to a running DVM and prints its states as they change, until it ends.
 *
 *     submit-and-follow [-n NP] [--name DVM] PROGRAM [ARGUMENTS]
 *
 * The exit status is the job's: its exit code, 128 + the signal that ended it, 125 if the DVM failed it.
 * To compile it: valac --pkg dvm-gobject-1.0 submit-and-follow.vala
 */

int np = 1;
string? dvm_name = null;
[CCode (array_length = false, array_null_terminated = true)]
string[]? command = null;

const OptionEntry[] ENTRIES = {
    { "np", 'n', 0, OptionArg.INT, ref np, "number of processes", "NP" },
    { "name", 0, 0, OptionArg.STRING, ref dvm_name, "name of the DVM", "DVM" },
    { OPTION_REMAINING, 0, 0, OptionArg.FILENAME_ARRAY, ref command, null, "PROGRAM [ARGUMENTS]" },
    { null }
};

int exit_status (Dvm.Job job) {
    if (job.exit_signal != 0) {
        return 128 + job.exit_signal;
    }
    if (job.exit_code != 0) {
        return job.exit_code;
    }
    return job.failed ? 125 : 0;
}

// A reader that goes ends this program, and not the job: GLib ignores the signal that would.
void say (string text) {
    print ("%s\n", text);
    if (stdout.error () != 0) {
        Process.exit (141);
    }
}

async int run_job () throws Error {
    var app = new Dvm.AppSpec (command);
    app.set_np (np);
    app.set_cwd (Environment.get_current_dir ());
    var spec = new Dvm.JobSpec ();
    spec.add_app (app);

    var client = new Dvm.Client (dvm_name);
    yield client.connect_async (null);
    // Before the job is there, so that none of its states is missed.
    yield client.subscribe_async (null);
    var job = yield client.submit_async (spec, null);
    job.state_changed.connect ((old_state, new_state, reason) => {
        say ("%s -> %s%s%s".printf (old_state.to_string (), new_state.to_string (), reason != "" ? ": " : "", reason));
    });
    say ("submitted " + job.get_object_path ());
    yield client.watch_job_async (job, null);
    yield client.wait_async (job, 0, null);
    var status = exit_status (job);
    say ("%s ended as %s, exit status %d".printf (job.nspace, job.state_name, status));
    return status;
}

int main (string[] args) {
    var status = 125;
    try {
        var context = new OptionContext ();
        context.set_strict_posix (true);
        context.add_main_entries (ENTRIES, null);
        context.parse (ref args);
        if (command == null) {
            throw new OptionError.FAILED ("the program is missing");
        }
        var loop = new MainLoop ();
        Error? error = null;
        run_job.begin ((object, result) => {
            try {
                status = run_job.end (result);
            } catch (Error caught) {
                error = caught;
            }
            loop.quit ();
        });
        loop.run ();
        if (error != null) {
            throw error;
        }
    } catch (Error error) {
        printerr ("submit-and-follow: %s\n", error.message);
    }
    return status;
}
