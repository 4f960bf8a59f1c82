// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The page keeps what the server tells, and shows the first rows of it. Text from the DVM is text, never markup.
'use strict';

const SHOWN = 300;
const RETRY = 3000;

const $ = (id) => document.getElementById(id);
const rows = { jobs: new Map(), nodes: new Map(), campaigns: new Map() };
const keys = { jobs: 'id', nodes: 'rank', campaigns: 'id' };
let dvm = {};
let skew = 0;       // seconds that the clock of the server is before this one
let live = false;   // the server tells
let refused = false; // the server does not take the token
let planned = false;
let timer = 0;

// ---- values as people read them

const plain = (value) => (value === null || value === undefined || value === '' ? '-' : String(value));

function span(seconds) {
  if (seconds < 60)
    return `${Math.max(seconds, 0).toFixed(seconds < 10 ? 1 : 0)}s`;
  const s = Math.floor(seconds), pad = (n) => String(n).padStart(2, '0');
  const days = Math.floor(s / 86400);
  const clock = `${Math.floor(s % 86400 / 3600)}:${pad(Math.floor(s % 3600 / 60))}:${pad(s % 60)}`;
  return days > 0 ? `${days}d ${clock}` : clock;
}

function bytes(value) {
  if (value === null)
    return '-';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; unit++)
    value /= 1024;
  return `${value.toFixed(unit > 0 && value < 9.95 ? 1 : 0)} ${units[unit]}`;
}

const now = () => Date.now() / 1000 - skew;
const elapsed = (row) => (row['started-at'] === null ? null : (row['ended-at'] ?? now()) - row['started-at']);
const time = (row) => (elapsed(row) === null ? '-' : span(elapsed(row)));
const moment = (seconds) => (seconds === null ? '-' : new Date(seconds * 1000).toLocaleString());

function jobColour(row) {
  if (row['ended-at'] !== null)
    return row.state === 'TERMINATED' || row.state === 'NOTIFIED' ? 'quiet' : 'bad';
  return row.live > 0 ? 'good' : 'wait';
}

const nodeColour = (row) => ({ UP: 'good', DOWN: 'bad' }[row.state] ?? 'wait');
const campaignColour = (row) => (/FAILED|ROLLING/i.test(row.state) ? 'bad' : row['ended-at'] === null ? 'wait' : 'good');

const columns = {
  jobs: [
    { key: 'id', title: 'ID', number: true },
    { key: 'namespace', title: 'Namespace' },
    { key: 'shown', title: 'State', colour: jobColour },
    { key: 'user', title: 'User' },
    { key: 'procs', title: 'Processes', number: true },
    { key: 'live', title: 'Live', number: true },
    { key: 'started-at', title: 'Started', number: true, show: (row) => moment(row['started-at']) },
    { key: 'time', title: 'Time', number: true, value: elapsed, show: time },
    { key: 'command', title: 'Command', hint: true },
  ],
  nodes: [
    { key: 'rank', title: 'Rank', number: true },
    { key: 'name', title: 'Name' },
    { key: 'state', title: 'State', colour: nodeColour },
    { key: 'used', title: 'Used', number: true },
    { key: 'slots', title: 'Slots', number: true },
    { key: 'load', title: 'Load', number: true, show: (row) => (row.load === null ? '-' : row.load.toFixed(2)) },
    { key: 'memory', title: 'Memory', number: true, show: (row) => bytes(row.memory) },
    { key: 'memory-total', title: 'of', number: true, show: (row) => bytes(row['memory-total']) },
    { key: 'reason', title: 'Reason', hint: true },
  ],
  campaigns: [
    { key: 'id', title: 'ID', number: true },
    { key: 'kind', title: 'Kind' },
    { key: 'state', title: 'State', colour: campaignColour },
    { key: 'done', title: 'Done', number: true },
    { key: 'total', title: 'of', number: true },
    { key: 'time', title: 'Time', number: true, value: elapsed, show: time },
    { key: 'held-jobs', title: 'Jobs held', number: true },
    { key: 'hosts', title: 'Hosts', hint: true },
  ],
};
const order = {
  jobs: { key: 'id', down: true },
  nodes: { key: 'rank', down: false },
  campaigns: { key: 'id', down: true },
};

// ---- which rows

function compare(column, down) {
  const value = column.value ?? ((row) => row[column.key]);
  return (a, b) => {
    const one = value(a), two = value(b);
    if (one === two)
      return 0;
    if (one === null || two === null)
      return one === null ? 1 : -1;
    return (one < two ? -1 : 1) * (down ? -1 : 1);
  };
}

function matches(kind, text) {
  if (text === '')
    return () => true;
  return (row) => columns[kind].some((column) => String(row[column.key] ?? '').toLowerCase().includes(text))
    || String(row.state ?? '').toLowerCase().includes(text);
}

function choose(kind) {
  const text = ($(`${kind}-filter`)?.value ?? '').trim().toLowerCase();
  const wanted = matches(kind, text);
  const all = kind === 'jobs' && $('ended').checked;
  const found = [];
  for (const row of rows[kind].values())
    if ((all || kind === 'nodes' || row['ended-at'] === null) && wanted(row))
      found.push(row);
  const by = order[kind];
  return found.sort(compare(columns[kind].find((column) => column.key === by.key), by.down));
}

// ---- tables

function sortBy(kind, key) {
  const by = order[kind];
  by.down = by.key === key ? !by.down : columns[kind].find((column) => column.key === key).number === true && key !== keys[kind];
  by.key = key;
  plan();
}

function makeTable(kind) {
  const table = $(`${kind}-table`);
  const head = table.createTHead().insertRow();
  for (const column of columns[kind]) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = column.title;
    button.addEventListener('click', () => sortBy(kind, column.key));
    cell.append(button);
    head.append(cell);
  }
  table.createTBody();
}

function setText(node, text) {
  if (node.textContent !== text)
    node.textContent = text;
}

function fillRow(line, kind, row) {
  line.className = '';
  columns[kind].forEach((column, i) => {
    const cell = line.cells[i] ?? line.insertCell();
    cell.colSpan = 1;
    setText(cell, column.show ? column.show(row) : plain(row[column.key]));
    cell.className = (column.number ? 'number ' : '') + (column.colour ? column.colour(row) : '');
    if (column.hint)
      cell.title = row[column.key];
  });
  while (line.cells.length > columns[kind].length)
    line.deleteCell(-1);
}

function fillEmpty(body, kind) {
  const line = body.rows[0] ?? body.insertRow();
  while (line.cells.length > 1)
    line.deleteCell(-1);
  const cell = line.cells[0] ?? line.insertCell();
  line.className = 'empty';
  cell.className = '';
  cell.colSpan = columns[kind].length;
  setText(cell, rows[kind].size > 0 ? 'none of them' : 'none');
}

function showTable(kind) {
  const found = choose(kind);
  const shown = found.slice(0, SHOWN);
  const body = $(`${kind}-table`).tBodies[0];
  shown.forEach((row, i) => fillRow(body.rows[i] ?? body.insertRow(), kind, row));
  while (body.rows.length > Math.max(shown.length, 1))
    body.deleteRow(-1);
  if (shown.length === 0)
    fillEmpty(body, kind);
  const cells = $(`${kind}-table`).tHead.rows[0].cells;
  columns[kind].forEach((column, i) => {
    if (column.key === order[kind].key)
      cells[i].setAttribute('aria-sort', order[kind].down ? 'descending' : 'ascending');
    else
      cells[i].removeAttribute('aria-sort');
    cells[i].className = column.number ? 'number' : '';
  });
  const total = Math.max(dvm[kind] ?? 0, rows[kind].size);
  setText($(`${kind}-count`), shown.length < total ? `${shown.length} of ${total}` : String(total));
  if (kind === 'campaigns')
    $(kind).hidden = found.length === 0;
}

// ---- the head

function showTotals() {
  const running = dvm['jobs-running'] ?? 0, slots = dvm.slots ?? 0, used = dvm['slots-in-use'] ?? 0;
  const totals = [
    ['Nodes up', `${dvm['nodes-up'] ?? 0} of ${Math.max(dvm.nodes ?? 0, dvm['nodes-up'] ?? 0)}`, dvm['nodes-up'], dvm.nodes],
    ['Slots in use', `${used} of ${slots}`, used, slots],
    ['Jobs running', running],
    ['Jobs waiting', dvm['jobs-held'] ?? 0],
    ['Jobs ended', dvm['jobs-ended'] ?? 0],
    ['Campaigns', dvm['campaigns-running'] ?? 0],
  ];
  const list = $('totals');
  totals.forEach(([title, value, part, whole], i) => {
    let card = list.children[i];
    if (!card) {
      card = document.createElement('div');
      card.append(document.createElement('dt'), document.createElement('dd'));
      if (whole !== undefined || part !== undefined) {
        const bar = document.createElement('progress');
        bar.setAttribute('aria-label', title);
        card.append(bar);
      }
      list.append(card);
    }
    setText(card.children[0], title);
    setText(card.children[1], String(value));
    if (card.children[2]) {
      card.children[2].max = Math.max(whole ?? 1, 1);
      card.children[2].value = part ?? 0;
    }
  });
}

function showHead() {
  const news = $('news');
  const there = live && dvm.connected;
  let text = 'live';
  if (refused)
    text = 'the token of this page is not valid any more: open the address that dvm-cli web has printed';
  else if (!live)
    text = 'the server of this page does not answer; trying again';
  else if (!dvm.connected)
    text = 'no DVM is running; this page goes on as soon as there is one';
  else if (dvm.problem)
    text = dvm.problem;
  setText(news, text);
  news.className = there && !dvm.problem ? '' : 'bad';
  setText($('name'), dvm.name ?? 'dvm');
  setText($('dvm-state'), there ? (dvm.ready ? 'ready' : dvm.state) : 'not there');
  $('dvm-state').className = there ? (dvm.ready ? 'state good' : 'state wait') : 'state bad';
  setText($('about'), dvm.version ? `namespace ${dvm.namespace}, dvm ${dvm.version}`
    + (there ? `, up ${span(now() - dvm['started-at'])}` : '') : '');
  document.title = `${dvm.name ?? 'dvm'}: ${there ? `${dvm['jobs-running']} running, ${dvm['jobs-held']} waiting` : 'not there'}`;
  $('main').className = there ? '' : 'old';
  $('main').setAttribute('aria-busy', String(!live));
}

function show() {
  planned = false;
  showHead();
  showTotals();
  Object.keys(rows).forEach(showTable);
}

function plan() {
  if (planned || document.hidden)
    return;
  planned = true;
  requestAnimationFrame(show);
}

// ---- what the server tells

function take(state, whole) {
  skew = Date.now() / 1000 - state.time;
  dvm = state.dvm ?? dvm;
  for (const kind of Object.keys(rows)) {
    if (whole)
      rows[kind].clear();
    for (const row of state[kind] ?? [])
      rows[kind].set(row[keys[kind]], row);
    for (const id of state.gone?.[kind] ?? [])
      rows[kind].delete(id);
  }
  live = true;
  refused = false;
  plan();
}

let source = null;

async function askWhy() {
  try {
    refused = (await fetch('api/state', { method: 'HEAD' })).status === 401;
  } catch {
    refused = false;
  }
  plan();
}

function lose() {
  leave();
  live = false;
  plan();
  askWhy();
  timer = setTimeout(follow, RETRY);
}

// A browser has few connections to one server: a tab that nobody sees needs none of them.
function leave() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function follow() {
  leave();
  source = new EventSource('events');
  source.addEventListener('whole', (event) => take(JSON.parse(event.data), true));
  source.addEventListener('change', (event) => take(JSON.parse(event.data), false));
  source.addEventListener('error', lose);
}

// ---- keys

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey)
    return;
  if (event.target.matches('input[type=search]')) {
    if (event.key === 'Escape') {
      event.target.value = '';
      event.target.blur();
      plan();
    }
    return;
  }
  const actions = {
    '/': () => $('jobs-filter').focus(),
    'a': () => $('ended').click(),
    'n': () => $('nodes').querySelector('.scroll').focus(),
    'j': () => $('jobs').querySelector('.scroll').focus(),
  };
  if (Object.hasOwn(actions, event.key)) {
    event.preventDefault();
    actions[event.key]();
  }
}

Object.keys(rows).forEach(makeTable);
['jobs-filter', 'nodes-filter', 'ended'].forEach((id) => $(id).addEventListener('input', plan));
document.addEventListener('keydown', onKey);
document.addEventListener('visibilitychange', () => (document.hidden ? leave() : follow()));
// Times go on where nothing else changes.
setInterval(plan, 1000);
if (!document.hidden)
  follow();
