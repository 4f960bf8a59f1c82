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
let stopped = null; // seconds: what is shown is of then; null: of now

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

const speed = (value) => (value === null || value === undefined ? '-' : `${bytes(value)}/s`);
const isCurrent = () => live && dvm.connected && !dvm.problem;
const now = () => stopped ?? Date.now() / 1000 - skew;
const elapsed = (row) => (row['started-at'] === null ? null : (row['ended-at'] ?? now()) - row['started-at']);
const time = (row) => (elapsed(row) === null ? '-' : span(elapsed(row)));

// The day where it is another one than today
function moment(seconds) {
  if (seconds === null)
    return '-';
  const date = new Date(seconds * 1000);
  return date.toDateString() === new Date().toDateString() ? date.toLocaleTimeString() : date.toLocaleString();
}

function jobColour(row) {
  if (row['ended-at'] !== null)
    return row.state === 'TERMINATED' || row.state === 'NOTIFIED' ? 'quiet' : 'bad';
  return row.live > 0 ? 'good' : 'wait';
}

const nodeColour = (row) => ({ UP: 'good', DOWN: 'bad' }[row.state] ?? 'wait');
const campaignColour = (row) => (/FAILED|ROLLING/i.test(row.state) ? 'bad' : row['ended-at'] === null ? 'wait' : 'good');

const columns = {
  jobs: [
    { key: 'id', title: 'ID', number: true, fill: fillJob },
    { key: 'namespace', title: 'Namespace' },
    { key: 'shown', title: 'State', colour: jobColour },
    { key: 'user', title: 'User', hint: true, short: true },
    { key: 'procs', title: 'Processes', number: true },
    { key: 'live', title: 'Live', number: true },
    { key: 'started-at', title: 'Started', number: true, show: (row) => moment(row['started-at']) },
    { key: 'time', title: 'Time', number: true, value: elapsed, show: time },
    { key: 'command', title: 'Command', hint: true, rest: true },
    { key: 'output-rate', title: 'Output', number: true, show: (row) => speed(row['output-rate']) },
    { key: 'created-at', title: 'Timeline', fill: fillTimeline },
  ],
  nodes: [
    { key: 'rank', title: 'Rank', number: true },
    { key: 'name', title: 'Name', fill: fillNode },
    { key: 'state', title: 'State', colour: nodeColour },
    { key: 'used', title: 'Used', number: true },
    { key: 'slots', title: 'Slots', number: true },
    { key: 'load', title: 'Load', number: true, show: (row) => (row.load === null ? '-' : row.load.toFixed(2)) },
    { key: 'memory', title: 'Memory', number: true, show: (row) => bytes(row.memory) },
    { key: 'memory-total', title: 'of', number: true, show: (row) => bytes(row['memory-total']) },
    { key: 'memory-allotted', title: 'Allotted', number: true, show: (row) => bytes(row['memory-allotted']) },
    { key: 'parent', title: 'Under', show: (row) => nameOfNode(row.parent) },
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

// ---- the tree of nodes

const nameOfNode = (rank) => (rank === 0 ? 'controller' : rows.nodes.get(rank)?.name ?? `rank ${rank}`);
const depths = new Map(); // of the nodes that are shown as a tree, by rank

// Each node behind the one above it; those above which none of the list is are at the left.
function arrangeTree(list) {
  const below = new Map(), there = new Set(list.map((row) => row.rank)), found = [];
  for (const row of list) {
    const parent = there.has(row.parent) ? row.parent : 0;
    if (!below.has(parent))
      below.set(parent, []);
    below.get(parent).push(row);
  }
  const open = (below.get(0) ?? []).reverse();
  depths.clear();
  open.forEach((row) => depths.set(row.rank, 0));
  while (open.length > 0) {
    const row = open.pop();
    found.push(row);
    for (const child of (below.get(row.rank) ?? []).reverse()) {
      depths.set(child.rank, depths.get(row.rank) + 1);
      open.push(child);
    }
  }
  // While the tree changes, what has come of it may not hang together.
  return found.concat(list.filter((row) => !depths.has(row.rank)));
}

function fillNode(cell, row) {
  setText(cell, row.name);
  cell.style.paddingInlineStart = depths.get(row.rank) > 0 ? `${0.6 + 1.1 * depths.get(row.rank)}rem` : '';
}

// ---- the time line of jobs

const FITTED = 25; // jobs, that the axis begins with
const SHORTEST = 10;
let axis = SHORTEST; // seconds up to now

function fitAxis(list) {
  const begins = list.slice(0, FITTED).map((row) => row['created-at'] ?? now());
  axis = Math.max(now() - Math.min(now(), ...begins), SHORTEST) * 1.02;
}

// When it waited, and when it ran: begin and end as parts of the axis, and the class that gives the colour
function makeSegments(row) {
  const at = (seconds) => Math.min(Math.max(1 - (now() - seconds) / axis, 0), 1);
  const created = row['created-at'], end = row['ended-at'] ?? now(), started = row['started-at'];
  if (created === null || created === undefined)
    return [];
  const parts = [[at(created), at(started ?? end), 'waits']];
  if (started !== null)
    parts.push([at(started), at(end), `runs ${row['ended-at'] === null ? 'now' : jobColour(row)}`]);
  return parts.filter((part) => part[1] > 0);
}

function describeTimes(row) {
  const end = row['ended-at'] ?? now(), started = row['started-at'], created = row['created-at'];
  const waited = created === null || created === undefined ? '' : `waited ${span((started ?? end) - created)}`;
  return [waited, started === null ? '' : `ran ${span(end - started)}`, row.shown].filter(Boolean).join(', ');
}

const SVG = 'http://www.w3.org/2000/svg';

function fillTimeline(cell, row) {
  let image = cell.querySelector('svg');
  if (!image) {
    image = document.createElementNS(SVG, 'svg');
    image.setAttribute('role', 'img');
    cell.replaceChildren(image);
  }
  const parts = makeSegments(row);
  parts.forEach(([begin, end, kind], i) => {
    const bar = image.children[i] ?? image.appendChild(document.createElementNS(SVG, 'rect'));
    bar.setAttribute('x', `${(begin * 100).toFixed(2)}%`);
    bar.setAttribute('width', `${Math.max((end - begin) * 100, 0.6).toFixed(2)}%`);
    bar.setAttribute('class', kind);
  });
  while (image.children.length > parts.length)
    image.lastChild.remove();
  image.setAttribute('aria-label', describeTimes(row));
  cell.title = describeTimes(row);
}

// ---- the map of a job: where its ranks are on packages and cores

let chosen = null; // the number of the job
let asked = '';    // the job and its state that the map was asked for

function fillJob(cell, row) {
  let button = cell.querySelector('button');
  if (!button) {
    button = document.createElement('button');
    button.type = 'button';
    button.className = 'link';
    button.addEventListener('click', () => chooseJob(Number(button.textContent)));
    cell.replaceChildren(button);
  }
  setText(button, String(row.id));
  button.setAttribute('aria-label', `Map of job ${row.id}`);
  button.setAttribute('aria-pressed', String(row.id === chosen));
}

function chooseJob(id) {
  chosen = id === chosen ? null : id;
  asked = '';
  $('map').hidden = chosen === null;
  plan();
  if (chosen !== null)
    $('map').scrollIntoView({ block: 'nearest' });
}

function readCpus(text) {
  const cpus = new Set();
  for (const part of text.split(',').filter(Boolean)) {
    const [first, last] = part.split('-').map(Number);
    for (let cpu = first; cpu <= (last ?? first); cpu++)
      cpus.add(cpu);
  }
  return cpus;
}

const meet = (one, two) => [...one].some((cpu) => two.has(cpu));

function makeElement(kind, text, className) {
  const element = document.createElement(kind);
  element.className = className ?? '';
  element.textContent = text;
  return element;
}

function makePackage(node, number, cores, ranks) {
  const list = makeElement('ol', '', 'cores');
  list.setAttribute('aria-label', `Package ${number} of ${node}`);
  cores.forEach((core) => {
    const here = ranks.filter((rank) => meet(rank.cpus, core.cpus)).map((rank) => rank.number);
    const text = here.length > 1 ? `${here[0]} +${here.length - 1}` : String(here[0] ?? '');
    const cell = makeElement('li', text, here.length > 0 ? 'core used' : 'core');
    cell.title = `core ${core.number}: ${here.length > 0 ? `rank ${here.join(', ')}` : 'no ranks'}`;
    cell.setAttribute('aria-label', cell.title);
    list.append(cell);
  });
  return list;
}

function makeNode(node, ranks) {
  const card = makeElement('div', '', 'card');
  const cores = (node.core ?? []).map((text, number) => ({ number, cpus: readCpus(text) }));
  const all = new Set(cores.flatMap((core) => [...core.cpus]));
  const packages = (node.package ?? []).map(readCpus);
  card.append(makeElement('h3', node.name));
  (packages.length > 0 || cores.length === 0 ? packages : [all]).forEach((cpus, number) => {
    card.append(makeElement('p', `Package ${number}`, 'quiet'));
    card.append(makePackage(node.name, number, cores.filter((core) => meet(core.cpus, cpus)), ranks));
  });
  const loose = ranks.filter((rank) => !meet(rank.cpus, all)).map((rank) => rank.number);
  if (loose.length > 0)
    card.append(makeElement('p', `Not bound to cores: ${loose.length > 1 ? 'ranks' : 'rank'} ${loose.slice(0, 24).join(', ')}`
      + (loose.length > 24 ? ' …' : '')));
  return card;
}

function showMap(map) {
  const ranks = map.ranks.map(([number, node, cpus]) => ({ number, node, cpus: readCpus(cpus) }));
  const cards = map.nodes.map((node, number) => makeNode(node, ranks.filter((rank) => rank.node === number)));
  $('map-nodes').replaceChildren(...cards);
  const more = [];
  if (map['hidden-nodes'] > 0)
    more.push(`${map['hidden-nodes']} more nodes are not shown`);
  if (map.procs > map.ranks.length)
    more.push(`${map.ranks.length} of ${map.procs} ranks are shown`);
  setText($('map-note'), more.join('; '));
}

// Once for each job and state of it, and when one of its processes is back, maybe on another node.
async function askMap() {
  const row = rows.jobs.get(chosen), wanted = `${chosen} ${row?.['created-at']} ${row?.state} ${row?.procs} ${row?.restarts}`;
  if (chosen === null || asked === wanted)
    return;
  asked = wanted;
  setText($('map-title'), `Map of job ${chosen}`);
  setText($('map-command'), row?.command ?? '');
  try {
    const answer = await fetch(`api/map/${chosen}`);
    if (asked !== wanted)
      return;
    if (answer.ok) {
      showMap(await answer.json());
      return;
    }
    setText($('map-note'), (await answer.text()).trim());
  } catch {
    setText($('map-note'), 'the server of this page does not answer');
    asked = '';
  }
  $('map-nodes').replaceChildren();
}

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
  found.sort(compare(columns[kind].find((column) => column.key === by.key), by.down));
  if (kind !== 'nodes')
    return found;
  if ($('tree').checked)
    return arrangeTree(found);
  depths.clear();
  return found;
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
    if (column.fill)
      column.fill(cell, row);
    else
      setText(cell, column.show ? column.show(row) : plain(row[column.key]));
    cell.className = (column.number ? 'number ' : '') + (column.rest ? 'rest ' : column.short ? 'short ' : '') + (column.colour ? column.colour(row) : '');
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
  if (kind === 'jobs')
    fitAxis(shown);
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
    ['Output', speed(dvm['output-rate'])],
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
  const there = isCurrent();
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
  news.className = there ? '' : 'bad';
  setText($('name'), dvm.name ?? 'dvm');
  setText($('dvm-state'), there ? (dvm.ready ? 'ready' : dvm.state) : live && dvm.connected ? 'no answer' : 'not there');
  $('dvm-state').className = there ? (dvm.ready ? 'state good' : 'state wait') : 'state bad';
  setText($('about'), dvm.version ? `namespace ${dvm.namespace}, dvm ${dvm.version}`
    + (there ? `, up ${span(now() - dvm['started-at'])}` : '') : '');
  document.title = `${dvm.name ?? 'dvm'}: ${there ? `${dvm['jobs-running']} running, ${dvm['jobs-held']} waiting` : $('dvm-state').textContent}`;
  $('main').className = there ? '' : 'old';
  $('main').setAttribute('aria-busy', String(!live));
}

function show() {
  planned = false;
  // Times stand still where nothing newer is known.
  stopped = isCurrent() ? null : now();
  showHead();
  showTotals();
  Object.keys(rows).forEach(showTable);
  askMap();
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
    'm': () => (chosen === null ? undefined : $('map-close').focus()),
    'j': () => $('jobs').querySelector('.scroll').focus(),
  };
  if (Object.hasOwn(actions, event.key)) {
    event.preventDefault();
    actions[event.key]();
  }
}

Object.keys(rows).forEach(makeTable);
$('map-close').addEventListener('click', () => chooseJob(chosen));
['jobs-filter', 'nodes-filter', 'ended', 'tree'].forEach((id) => $(id).addEventListener('input', plan));
document.addEventListener('keydown', onKey);
document.addEventListener('visibilitychange', () => (document.hidden ? leave() : follow()));
// Times go on where nothing else changes.
setInterval(plan, 1000);
if (!document.hidden)
  follow();
