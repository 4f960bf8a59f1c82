/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keys change what is seen, or call an action; answers of the DVM, time and signals arrive by the main loop.
 */

#include "config.h"

#include "dvm-cli-top-screen.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-top-actions.h"
#include "dvm-cli-watch-feed.h"
#include "dvm-cli-top-paint.h"
#include "dvm-cli-terminal.h"

#define KEY_ESCAPE 27
/* After this time the DVM is said not to answer. */
#define SILENT_SECONDS 5

typedef struct
{
  guint first;    /* row at the top */
  guint selected; /* row */
  guint id;       /* of the selected row, which it follows; 0: the first one, whichever that is */
} Place;

/* A question stands in the last line. */
typedef struct
{
  char kind; /* the key that asks; 0: nothing is asked */
  guint id;  /* of the row that it is about */
  char *prompt;
  GString *input;
} Question;

typedef struct
{
  const DvmCliTopScreenSetup *setup;
  GCancellable *cancellable; /* of the connection */
  DvmClient *client;         /* (nullable): not connected yet */
  DvmCliWatchModel *model;
  DvmCliWatchFeed *feed;
  DvmCliTopActions *actions;
  DvmCliWatchPanel panel;
  Place places[DVM_CLI_WATCH_N_PANELS];
  Question question;
  char **lines; /* (nullable): shown in place of rows */
  guint first_line;
  char *message; /* (nullable) */
  gboolean colour;
  gboolean paused;
  gint64 asked;      /* since when rows are waited for, monotonic; 0: they are there */
  gint64 fed;        /* when rows came last */
  gboolean is_gone;  /* the DVM, as it was painted */
  gboolean is_fresh; /* nobody has seen the rows of the panel yet */
  guint n_left;      /* rounds; 0: no end */
  gboolean is_painted;
  gboolean over;
  int status;
} Screen;

/* ---- what is seen ---- */

static Place *
get_place (Screen *self)
{
  return &self->places[self->panel];
}

/* The selection follows its row; where that has gone, it stays near. */
static void
settle_place (Screen *self)
{
  Place *place = get_place (self);
  guint n = dvm_cli_watch_model_count_shown (self->model, self->panel);
  guint n_rows = MAX (dvm_cli_top_paint_n_rows (), 1);
  gint found = place->id != 0 ? dvm_cli_watch_model_find (self->model, self->panel, place->id) : 0;
  const DvmCliWatchRow *row;

  if (found >= 0)
    place->selected = (guint)found;
  place->selected = n > 0 ? MIN (place->selected, n - 1) : 0;
  row = dvm_cli_watch_model_get (self->model, self->panel, place->selected);
  if (place->id != 0 && row != NULL)
    place->id = row->id;
  if (place->selected < place->first)
    place->first = place->selected;
  if (place->selected >= place->first + n_rows)
    place->first = place->selected - n_rows + 1;
  place->first = MIN (place->first, n > n_rows ? n - n_rows : 0);
}

/* (nullable): why what is shown is not as it is now */
static const char *
find_notice (Screen *self)
{
  if (!dvm_client_get_connected (self->client))
    return _ ("the DVM has gone; this is how it was; waiting for it to come back");
  if (self->asked > 0 && g_get_monotonic_time () - self->asked > SILENT_SECONDS * G_USEC_PER_SEC)
    return _ ("the DVM does not answer; this is how it was");
  return NULL;
}

static void
fill_view (Screen *self, DvmCliTopView *view)
{
  const char *name = self->setup->cli->name;
  const char *notice = find_notice (self);

  *view = (DvmCliTopView){
    .model = self->model,
    .name = name != NULL ? name : "dvm",
    .panel = self->panel,
    .first = get_place (self)->first,
    .selected = get_place (self)->selected,
    .message = self->message,
    .prompt = self->question.kind != 0 ? self->question.prompt : NULL,
    .input = self->question.input->str,
    .lines = (const char *const *)self->lines,
    .first_line = self->first_line,
    .paused = self->paused,
    .colour = self->colour,
    .notice = notice,
    .now = notice != NULL && self->fed > 0 ? self->fed : g_get_real_time (),
  };
}

static void
set_message (Screen *self, const char *message)
{
  g_free (self->message);
  self->message = message != NULL ? dvm_cli_escape (message) : NULL;
}

static void
paint (Screen *self)
{
  gboolean is_gone = !dvm_client_get_connected (self->client);
  DvmCliTopView view;

  /* That it had gone is no news any more. */
  if (self->is_gone && !is_gone)
    set_message (self, NULL);
  self->is_gone = is_gone;
  if (is_gone)
    self->asked = 0;
  settle_place (self);
  fill_view (self, &view);
  dvm_cli_top_paint (&view);
}

static void
refresh_rows (Screen *self)
{
  g_autoptr (GArray) visible = g_array_new (FALSE, FALSE, sizeof (guint));
  const DvmCliWatchRow *row;

  for (guint i = 0; i < dvm_cli_top_paint_n_rows (); i++)
    {
      row = dvm_cli_watch_model_get (self->model, self->panel, get_place (self)->first + i);
      if (row == NULL)
        break;
      g_array_append_val (visible, row->id);
    }
  if (self->asked == 0 && dvm_client_get_connected (self->client))
    self->asked = g_get_monotonic_time ();
  dvm_cli_watch_feed_refresh (self->feed, self->panel, visible);
}

static void
show_panel (Screen *self, DvmCliWatchPanel panel)
{
  self->panel = panel;
  self->is_fresh = panel == DVM_CLI_WATCH_NODES;
  refresh_rows (self);
}

static void
show_lines (Screen *self, const char *text)
{
  g_strfreev (self->lines);
  self->lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;
  self->first_line = 0;
}

static void
on_fed (const GError *error, gpointer user_data)
{
  Screen *self = user_data;

  self->asked = 0;
  if (error != NULL)
    set_message (self, error->message);
  else if (dvm_client_get_connected (self->client))
    self->fed = g_get_real_time ();
  paint (self);
  /* The rows are there now, so that nodes among them can be measured. */
  if (self->is_fresh && dvm_cli_watch_model_count_shown (self->model, self->panel) > 0)
    {
      self->is_fresh = FALSE;
      refresh_rows (self);
    }
}

static void
on_action (const char *message, gboolean is_text, gpointer user_data)
{
  Screen *self = user_data;

  if (is_text)
    show_lines (self, message);
  else
    set_message (self, message);
  refresh_rows (self);
  paint (self);
}

static gboolean
on_time (gpointer user_data)
{
  Screen *self = user_data;

  if (self->n_left == 1)
    self->over = TRUE;
  else if (self->n_left > 0)
    self->n_left--;
  if (!self->paused)
    refresh_rows (self);
  paint (self);
  return G_SOURCE_CONTINUE;
}

/* ---- questions ---- */

/* prompt: (transfer full) */
static void
ask (Screen *self, char kind, guint id, char *prompt, const char *input)
{
  g_free (self->question.prompt);
  self->question.kind = kind;
  self->question.id = id;
  self->question.prompt = prompt;
  g_string_assign (self->question.input, input);
}

static void
filter_rows (Screen *self, const char *text)
{
  dvm_cli_watch_model_set_filter (self->model, self->panel, text);
  *get_place (self) = (Place){ 0 };
}

static void
answer_question (Screen *self)
{
  const char *input = self->question.input->str;
  char kind = self->question.kind;

  self->question.kind = 0;
  if (kind == '/')
    filter_rows (self, input);
  else if (input[strspn (input, " ,")] == '\0')
    set_message (self, _ ("nothing is done"));
  else if (kind == 'g')
    dvm_cli_top_actions_grow (self->actions, input);
  else if (kind == 's')
    dvm_cli_top_actions_shrink (self->actions, input);
}

static void
confirm (Screen *self, wint_t key)
{
  gboolean yes = key == 'y' || key == 'Y';
  gboolean is_job = self->panel == DVM_CLI_WATCH_JOBS;

  self->question.kind = 0;
  if (yes)
    dvm_cli_top_actions_do (self->actions, is_job ? DVM_CLI_TOP_CANCEL_JOB : DVM_CLI_TOP_CANCEL_CAMPAIGN,
                            self->question.id);
  else
    set_message (self, _ ("nothing is done"));
}

static void
erase_character (GString *input)
{
  const char *last = input->len > 0 ? g_utf8_find_prev_char (input->str, input->str + input->len) : NULL;

  if (last != NULL)
    g_string_truncate (input, (gsize)(last - input->str));
}

static void
handle_input (Screen *self, gboolean is_function, wint_t key)
{
  GString *input = self->question.input;

  if (self->question.kind == 'k')
    confirm (self, is_function ? 0 : key);
  else if (is_function ? key == KEY_ENTER : key == '\r' || key == '\n')
    answer_question (self);
  else if (is_function ? key == KEY_BACKSPACE : key == 127 || key == '\b')
    erase_character (input);
  else if (!is_function && key == 'U' - '@')
    g_string_truncate (input, 0);
  else if (!is_function && key == KEY_ESCAPE)
    self->question.kind = 0;
  else if (!is_function && g_unichar_isprint (key) && input->len < 256)
    g_string_append_unichar (input, key);
  /* Rows are found while one types. */
  if (self->question.kind == '/')
    filter_rows (self, input->str);
}

/* ---- keys of the list ---- */

static const char help[] = N_ ("1 2 3 Tab       jobs, nodes, campaigns\n"
                               "arrows PgUp PgDn Home End   move; Enter: all about the row\n"
                               "< > F6          sort by the column before or behind; R: the other way round\n"
                               "/ F4            show rows alone that have a text; Esc shows all again\n"
                               "a               ended jobs and campaigns too\n"
                               "k F9            cancel the job, or take the growth back\n"
                               "h r             hold a job that waits, release it\n"
                               "d u             drain the node: no new jobs there; undrain it\n"
                               "g s             grow: a number of nodes, or hosts; shrink: hosts\n"
                               "space           stop reading; again: go on\n"
                               "mouse           select a row; the wheel moves; a title sorts\n"
                               "q F10 Ctrl-C    end");

/* (nullable) with a message: there is none of that panel */
static const DvmCliWatchRow *
get_selected (Screen *self, DvmCliWatchPanel panel, const char *sentence)
{
  const DvmCliWatchRow *row = dvm_cli_watch_model_get (self->model, panel, self->places[panel].selected);

  if (self->panel == panel && row != NULL)
    return row;
  set_message (self, sentence);
  return NULL;
}

static void
ask_kill (Screen *self)
{
  gboolean is_job = self->panel != DVM_CLI_WATCH_CAMPAIGNS;
  const DvmCliWatchRow *row = get_selected (self, is_job ? DVM_CLI_WATCH_JOBS : DVM_CLI_WATCH_CAMPAIGNS,
                                            _ ("no job is selected: 1 shows them"));

  if (row == NULL)
    return;
  /* The row may move while one thinks. */
  ask (self, 'k', row->id,
       g_strdup_printf (is_job ? _ ("cancel job %u? (y/n) ") : _ ("take campaign %u back? (y/n) "), row->id), "");
}

static void
ask_size (Screen *self, char key)
{
  const DvmCliWatchRow *row = dvm_cli_watch_model_get (self->model, DVM_CLI_WATCH_NODES,
                                                       self->places[DVM_CLI_WATCH_NODES].selected);
  gboolean offers = key == 's' && self->panel == DVM_CLI_WATCH_NODES && row != NULL;

  ask (self, key, 0,
       g_strdup (key == 'g' ? _ ("grow by how many nodes, or which hosts? ") : _ ("which hosts are to leave? ")),
       offers ? row->texts[1] : "");
}

static void
act_on_job (Screen *self, DvmCliTopAction action)
{
  const DvmCliWatchRow *row = get_selected (self, DVM_CLI_WATCH_JOBS, _ ("no job is selected: 1 shows them"));

  if (row != NULL)
    dvm_cli_top_actions_do (self->actions, action, row->id);
}

static void
act_on_node (Screen *self, DvmCliTopAction action)
{
  const DvmCliWatchRow *row = get_selected (self, DVM_CLI_WATCH_NODES, _ ("no node is selected: 2 shows them"));

  if (row != NULL)
    dvm_cli_top_actions_do (self->actions, action, row->id);
}

static void
sort_by (Screen *self, guint column, gboolean descending)
{
  dvm_cli_watch_model_set_sort (self->model, self->panel, column, descending);
}

static void
move_sort (Screen *self, int step)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (self->panel);
  gboolean descending;
  guint column = dvm_cli_watch_model_get_sort (self->model, self->panel, &descending);
  guint n = 0;

  while (columns[n].key != NULL)
    n++;
  sort_by (self, (column + n + (guint)step) % n, descending);
}

static void
turn_sort (Screen *self)
{
  gboolean descending;
  guint column = dvm_cli_watch_model_get_sort (self->model, self->panel, &descending);

  sort_by (self, column, !descending);
}

static void
select_row (Screen *self, gint64 index)
{
  gint64 n = dvm_cli_watch_model_count_shown (self->model, self->panel);
  Place *place = get_place (self);
  const DvmCliWatchRow *row;

  place->selected = (guint)CLAMP (index, 0, MAX (n - 1, 0));
  row = dvm_cli_watch_model_get (self->model, self->panel, place->selected);
  place->id = row != NULL ? row->id : 0;
}

static void
toggle_all (Screen *self)
{
  gboolean all = !dvm_cli_watch_model_get_all (self->model);

  dvm_cli_watch_model_set_all (self->model, all);
  dvm_cli_watch_feed_forget (self->feed);
  set_message (self, all ? _ ("ended jobs and campaigns, too") : _ ("without those that have ended"));
  refresh_rows (self);
}

static void
toggle_pause (Screen *self)
{
  self->paused = !self->paused;
  if (!self->paused)
    refresh_rows (self);
}

static void
show_selected (Screen *self)
{
  const DvmCliWatchRow *row = dvm_cli_watch_model_get (self->model, self->panel, get_place (self)->selected);

  if (row != NULL)
    dvm_cli_top_actions_show (self->actions, self->panel, row->id);
}

/* FALSE: it is none that moves */
static gboolean
move_selection (Screen *self, wint_t key)
{
  gint64 selected = get_place (self)->selected;
  gint64 page = MAX (dvm_cli_top_paint_n_rows (), 1);

  if (key == KEY_UP)
    select_row (self, selected - 1);
  else if (key == KEY_DOWN)
    select_row (self, selected + 1);
  else if (key == KEY_PPAGE)
    select_row (self, selected - page);
  else if (key == KEY_NPAGE)
    select_row (self, selected + page);
  else if (key == KEY_HOME)
    select_row (self, 0);
  else if (key == KEY_END)
    select_row (self, G_MAXINT);
  else
    return FALSE;
  return TRUE;
}

static void
handle_mouse (Screen *self)
{
  guint titles = dvm_cli_top_paint_titles_row ();
  DvmCliTopView view;
  gboolean descending;
  MEVENT event;
  gint column;

  if (getmouse (&event) != OK)
    return;
  if ((event.bstate & BUTTON4_PRESSED) != 0)
    select_row (self, (gint64)get_place (self)->selected - 3);
  else if ((event.bstate & BUTTON5_PRESSED) != 0)
    select_row (self, (gint64)get_place (self)->selected + 3);
  else if ((event.bstate & BUTTON1_PRESSED) != 0 && (guint)event.y > titles)
    select_row (self, (gint64)get_place (self)->first + event.y - titles - 1);
  else if ((event.bstate & BUTTON1_PRESSED) != 0 && (guint)event.y == titles)
    {
      fill_view (self, &view);
      column = dvm_cli_top_paint_find_column (&view, (guint)event.x);
      if (column >= 0)
        sort_by (self, (guint)column,
                 dvm_cli_watch_model_get_sort (self->model, self->panel, &descending) == (guint)column && !descending);
    }
}

/* Function keys do what these letters do; 0: nothing */
static wint_t
translate_key (wint_t key)
{
  static const struct
  {
    wint_t key;
    char letter;
  } letters[] = { { KEY_F (1), '?' },  { KEY_F (4), '/' },  { KEY_F (6), '>' }, { KEY_F (9), 'k' },
                  { KEY_F (10), 'q' }, { KEY_ENTER, '\r' }, { KEY_BTAB, '\v' }, { KEY_F (3), '/' } };

  for (guint i = 0; i < G_N_ELEMENTS (letters); i++)
    if (letters[i].key == key)
      return letters[i].letter;
  return 0;
}

/* FALSE: the letter is none of those that show something else */
static gboolean
handle_looking (Screen *self, wint_t letter)
{
  if (letter >= '1' && letter <= '3')
    show_panel (self, letter - '1');
  else if (letter == '\t')
    show_panel (self, (self->panel + 1) % DVM_CLI_WATCH_N_PANELS);
  else if (letter == '\v')
    show_panel (self, (self->panel + DVM_CLI_WATCH_N_PANELS - 1) % DVM_CLI_WATCH_N_PANELS);
  else if (letter == '<' || letter == '>')
    move_sort (self, letter == '<' ? -1 : 1);
  else if (letter == 'R' || letter == 'I')
    turn_sort (self);
  else if (letter == '/')
    ask (self, '/', 0, g_strdup (_ ("filter: ")), dvm_cli_watch_model_get_filter (self->model, self->panel));
  else if (letter == KEY_ESCAPE)
    filter_rows (self, "");
  else if (letter == 'a')
    toggle_all (self);
  else if (letter == ' ')
    toggle_pause (self);
  else if (letter == '?')
    show_lines (self, _ (help));
  else if (letter == '\r' || letter == '\n')
    show_selected (self);
  else
    return FALSE;
  return TRUE;
}

static void
handle_letter (Screen *self, wint_t letter)
{
  if (handle_looking (self, letter))
    return;
  if (letter == 'q' || letter == 'Q')
    self->over = TRUE;
  else if (letter == 'k')
    ask_kill (self);
  else if (letter == 'h')
    act_on_job (self, DVM_CLI_TOP_HOLD_JOB);
  else if (letter == 'r')
    act_on_job (self, DVM_CLI_TOP_RELEASE_JOB);
  else if (letter == 'd')
    act_on_node (self, DVM_CLI_TOP_DRAIN_NODE);
  else if (letter == 'u')
    act_on_node (self, DVM_CLI_TOP_RESUME_NODE);
  else if (letter == 'g' || letter == 's')
    ask_size (self, (char)letter);
  else if (letter != 0)
    set_message (self, _ ("that key does nothing; ? shows those that do"));
}

static void
handle_list (Screen *self, gboolean is_function, wint_t key)
{
  if (is_function && key == KEY_MOUSE)
    handle_mouse (self);
  else if (!is_function || !move_selection (self, key))
    handle_letter (self, is_function ? translate_key (key) : key);
}

static void
handle_lines (Screen *self, gboolean is_function, wint_t key)
{
  guint n = g_strv_length (self->lines);
  guint page = MAX (dvm_cli_top_paint_n_rows (), 1);
  gint64 first = self->first_line;

  if (!is_function || (key == KEY_ENTER || key == KEY_F (1) || key == KEY_F (10)))
    {
      show_lines (self, NULL);
      return;
    }
  first += key == KEY_DOWN ? 1 : key == KEY_UP ? -1 : 0;
  first += key == KEY_NPAGE ? (gint64)page : key == KEY_PPAGE ? -(gint64)page : 0;
  self->first_line = (guint)CLAMP (first, 0, n > 0 ? n - 1 : 0);
}

static gboolean
on_keys (int fd, GIOCondition condition, gpointer user_data)
{
  Screen *self = user_data;
  gboolean has_key = FALSE;
  wint_t key;
  int kind;

  while (!self->over && (kind = get_wch (&key)) != ERR)
    {
      gboolean is_function = kind == KEY_CODE_YES;

      has_key = TRUE;
      if (is_function && key == KEY_RESIZE)
        continue;
      set_message (self, NULL);
      if (self->question.kind != 0)
        handle_input (self, is_function, key);
      else if (self->lines != NULL)
        handle_lines (self, is_function, key);
      else
        handle_list (self, is_function, key);
    }
  /* The terminal has gone. */
  if (!has_key && (condition & (G_IO_HUP | G_IO_ERR)) != 0)
    {
      self->over = TRUE;
      self->status = 128 + SIGHUP;
    }
  if (!self->over)
    paint (self);
  return !self->over;
}

/* ---- signals ---- */

static void
resize_screen (void)
{
  guint rows, columns;

  if (dvm_cli_get_terminal_size (&rows, &columns))
    resizeterm ((int)rows, (int)columns);
}

static void
on_signal (int signum, gpointer user_data)
{
  Screen *self = user_data;

  if (signum == SIGTSTP)
    {
      if (self->is_painted)
        dvm_cli_top_paint_end ();
      dvm_cli_signals_stop ();
    }
  else if (signum == SIGINT || signum == SIGTERM || signum == SIGHUP || signum == SIGQUIT)
    {
      self->over = TRUE;
      self->status = 128 + signum;
      g_cancellable_cancel (self->cancellable);
    }
  else if (self->is_painted && (signum == SIGWINCH || signum == SIGCONT))
    {
      /* Others have written on the screen, and set the terminal for themselves. */
      if (signum == SIGCONT)
        {
          reset_prog_mode ();
          clearok (curscr, TRUE);
        }
      resize_screen ();
      paint (self);
    }
}

/* ---- its life ---- */

static void
run_loop (Screen *self)
{
  guint keys, timer;

  self->feed = dvm_cli_watch_feed_new (self->client, self->model, on_fed, self);
  self->actions = dvm_cli_top_actions_new (self->client, on_action, self);
  keys = g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_keys, self);
  timer = g_timeout_add (self->setup->delay * 1000, on_time, self);
  paint (self);
  refresh_rows (self);
  while (!self->over)
    g_main_context_iteration (NULL, TRUE);
  if (g_main_context_find_source_by_id (NULL, keys) != NULL)
    g_source_remove (keys);
  g_source_remove (timer);
  g_clear_pointer (&self->actions, dvm_cli_top_actions_free);
  g_clear_pointer (&self->feed, dvm_cli_watch_feed_free);
}

static void
show_screen (Screen *self)
{
  self->colour = dvm_cli_may_use_colour (self->setup->cli);
  self->is_painted = dvm_cli_top_paint_begin (self->colour);
  if (!self->is_painted)
    return;
  self->colour = self->colour && has_colors ();
  resize_screen ();
  run_loop (self);
  dvm_cli_top_paint_end ();
}

gboolean
dvm_cli_top_screen_is_possible (void)
{
  return !dvm_cli_terminal_is_dumb () && dvm_cli_terminal_is_able ();
}

int
dvm_cli_top_screen_run (const DvmCliTopScreenSetup *setup, GError **error)
{
  static const int also[] = { SIGQUIT, 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Screen self = {
    .setup = setup,
    .cancellable = cancellable,
    .model = setup->model,
    .panel = setup->panel,
    .n_left = setup->n_rounds,
    .is_fresh = TRUE,
  };
  /* Before the connection, which has a thread, and before the terminal is changed: no signal leaves that as it is. */
  g_autoptr (DvmCliSignals) signals = dvm_cli_signals_new (also, on_signal, &self);
  g_autoptr (DvmClient) client = dvm_cli_connect_cancellable (setup->cli, cancellable, error);

  if (self.over)
    g_clear_error (error);
  if (self.over || client == NULL)
    return self.over ? self.status : DVM_CLI_EXIT_FAILED;
  dvm_client_set_reconnect (client, TRUE);
  self.client = client;
  self.question.input = g_string_new (NULL);
  show_screen (&self);
  g_string_free (self.question.input, TRUE);
  g_free (self.question.prompt);
  g_strfreev (self.lines);
  g_free (self.message);
  if (!self.is_painted)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, _ ("the terminal cannot be set up; --batch needs none"));
  return self.is_painted ? self.status : DVM_CLI_EXIT_FAILED;
}
