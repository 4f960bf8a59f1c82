/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard streams of a job as GIO streams.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-job-streams"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>

#include "dvm-client-private.h"

/**
 * DvmJobStreams:
 *
 * Streams of a job that the program is attached to. They are closed when the last reference to them goes. An attached
 * reader that does not read holds up the output of that job.
 *
 * Since: 0.1
 */

enum
{
  PROP_0,
  PROP_STDIN,
  PROP_STDOUT,
  PROP_STDERR,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

struct _DvmJobStreams
{
  GObject parent_instance;

  GOutputStream *in; /* (nullable): what the job reads */
  GInputStream *out; /* (nullable) */
  GInputStream *err; /* (nullable) */
};

G_DEFINE_FINAL_TYPE (DvmJobStreams, dvm_job_streams, G_TYPE_OBJECT)

static void
dvm_job_streams_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  DvmJobStreams *self = DVM_JOB_STREAMS (object);

  switch (prop_id)
    {
    case PROP_STDIN:
      g_value_set_object (value, self->in);
      break;
    case PROP_STDOUT:
      g_value_set_object (value, self->out);
      break;
    case PROP_STDERR:
      g_value_set_object (value, self->err);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
    }
}

static void
dvm_job_streams_dispose (GObject *object)
{
  DvmJobStreams *self = DVM_JOB_STREAMS (object);

  g_clear_object (&self->in);
  g_clear_object (&self->out);
  g_clear_object (&self->err);
  G_OBJECT_CLASS (dvm_job_streams_parent_class)->dispose (object);
}

static void
dvm_job_streams_class_init (DvmJobStreamsClass *klass)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_job_streams_get_property;
  object_class->dispose = dvm_job_streams_dispose;
  /**
   * DvmJobStreams:stdin:
   *
   * What the job reads; %NULL if it was not asked for.
   *
   * Since: 0.1
   */
  properties[PROP_STDIN] = g_param_spec_object ("stdin", NULL, NULL, G_TYPE_OUTPUT_STREAM, flags);
  /**
   * DvmJobStreams:stdout:
   *
   * What the job writes to its standard output, or to its terminal; %NULL if it was not asked for.
   *
   * Since: 0.1
   */
  properties[PROP_STDOUT] = g_param_spec_object ("stdout", NULL, NULL, G_TYPE_INPUT_STREAM, flags);
  /**
   * DvmJobStreams:stderr:
   *
   * What the job writes to its standard error; %NULL if it was not asked for.
   *
   * Since: 0.1
   */
  properties[PROP_STDERR] = g_param_spec_object ("stderr", NULL, NULL, G_TYPE_INPUT_STREAM, flags);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
dvm_job_streams_init (DvmJobStreams *self)
{
}

DvmJobStreams *
_dvm_job_streams_new (int stdin_fd, int stdout_fd, int stderr_fd)
{
  DvmJobStreams *self = g_object_new (DVM_TYPE_JOB_STREAMS, NULL);

  if (stdin_fd >= 0)
    self->in = g_unix_output_stream_new (stdin_fd, TRUE);
  if (stdout_fd >= 0)
    self->out = g_unix_input_stream_new (stdout_fd, TRUE);
  if (stderr_fd >= 0)
    self->err = g_unix_input_stream_new (stderr_fd, TRUE);
  return self;
}

/**
 * dvm_job_streams_get_stdin:
 * @self: streams of a job
 *
 * What the job reads. Closing it is the end of the job's input.
 *
 * Returns: (transfer none) (nullable): the stream; %NULL if it was not asked for
 * Since: 0.1
 */
GOutputStream *
dvm_job_streams_get_stdin (DvmJobStreams *self)
{
  g_return_val_if_fail (DVM_IS_JOB_STREAMS (self), NULL);

  return self->in;
}

/**
 * dvm_job_streams_get_stdout:
 * @self: streams of a job
 *
 * What the job writes to its standard output, or to its terminal. It ends with the job.
 *
 * Returns: (transfer none) (nullable): the stream; %NULL if it was not asked for
 * Since: 0.1
 */
GInputStream *
dvm_job_streams_get_stdout (DvmJobStreams *self)
{
  g_return_val_if_fail (DVM_IS_JOB_STREAMS (self), NULL);

  return self->out;
}

/**
 * dvm_job_streams_get_stderr:
 * @self: streams of a job
 *
 * What the job writes to its standard error. It ends with the job.
 *
 * Returns: (transfer none) (nullable): the stream; %NULL if it was not asked for
 * Since: 0.1
 */
GInputStream *
dvm_job_streams_get_stderr (DvmJobStreams *self)
{
  g_return_val_if_fail (DVM_IS_JOB_STREAMS (self), NULL);

  return self->err;
}
