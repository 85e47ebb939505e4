import type { PastStep } from '../agent-answers.ts';
import { listLineage } from '../history/lineage.ts';
import { joinMessage, isPiece, type MessageFields } from './message-pieces.ts';
import type { RunStreamEvent } from '../run-stream.ts';
import { isObject, parseJsonOr } from '../../../../schema/json.ts';
import { readErrorStack, toText } from '../agent-answers.ts';

/* The conversation of a thread, and of the run that it is busy with: a value that each event changes. */

/**
 * Messages of a graph within the graph, and how many messages of the thread stand before them. `isPast`: an earlier run
 * wrote them.
 */
export type NestedMessages = {
  within: string;
  behind: number;
  messages: MessageFields[];
  isPast?: true;
};

/** The work of a node: how many of its tasks go on, how many have ended, and whether one has failed. */
export type NodeWork = { running: number; ended: number; failed: boolean };

export type LiveRun = {
  /** Messages of the thread's state, and those that are still being written behind them. */
  messages: MessageFields[];
  nested: NestedMessages[];
  /** The work of the run's nodes. One of a graph within the graph is `outer:inner`. */
  nodes: ReadonlyMap<string, NodeWork>;
  error: string | undefined;
  /** Where the run failed, as a developer's server says; empty elsewhere. */
  stack: string;
  runId: string | undefined;
};

/** Tasks that are looked into. Most have no graph within them, and a graph's own form does not tell. */
const MOST_TASKS = 40;
/** Letters of an event that are parsed. The state of a longer one is read when the run is over. */
const LONGEST = 1_000_000;

export const NO_RUN: LiveRun = {
  messages: [],
  nested: [],
  nodes: new Map(),
  error: undefined,
  stack: '',
  runId: undefined,
};

/** Returns the conversation after an event of the run. */
export function applyRunEvent(now: LiveRun, { kind, within, text }: RunStreamEvent): LiveRun {
  if (text.length > LONGEST) return now;
  const data = parseJsonOr(text, undefined);
  if (kind === 'metadata' && within === '') return beginRun(now, data);
  if (kind === 'messages') return applyPiece(now, within, data);
  if (kind === 'values' && within === '')
    return mergeStateMessages(now, isObject(data) ? data['messages'] : undefined);
  if (kind === 'tasks') return applyTask(now, within, data);
  if (kind === 'error')
    return { ...now, error: describeRunError(data), stack: readErrorStack(data) };
  return now;
}

/** A run begins, or another attempt of it, which writes its messages once more. */
function beginRun(now: LiveRun, data: unknown): LiveRun {
  const runId = isObject(data) ? toText(data['run_id']) : '';
  const messages = now.messages.filter((one) => !isPiece(one));
  return {
    messages,
    nested: now.nested.filter(({ isPast }) => isPast),
    nodes: new Map(),
    error: undefined,
    stack: '',
    runId: runId === '' ? now.runId : runId,
  };
}

/** Returns the conversation with the messages of a state. Messages that are being written are in no state yet. */
export function mergeStateMessages(now: LiveRun, given: unknown): LiveRun {
  if (!Array.isArray(given)) return now;
  const messages = given.filter(isObject);
  const ids = new Set(messages.map((one) => toText(one['id'])).filter((id) => id !== ''));
  const writing = now.messages.filter((one) => isPiece(one) && !ids.has(toText(one['id'])));
  // A message of a graph within the graph that is one of the thread's, too, is shown once.
  const nested = now.nested.map((one) => ({
    ...one,
    messages: one.messages.filter((message) => !ids.has(toText(message['id']))),
  }));
  return {
    ...now,
    messages: [...messages, ...writing],
    nested: nested.filter((one) => one.messages.length > 0),
  };
}

/** A task of an earlier step: the namespace of a graph within it, and the messages of the thread before it. */
export type PastTask = Pick<NestedMessages, 'within' | 'behind'>;

/** Returns the tasks of the last steps that led to a checkpoint, the oldest first. */
export function listPastTasks(steps: readonly PastStep[], newest: string): PastTask[] {
  const lineage = listLineage(steps, newest);
  const own = steps.filter(({ id }) => lineage.includes(id)).toReversed();
  return own
    .flatMap(({ messages, tasks }) => tasks.map((within) => ({ within, behind: messages })))
    .slice(-MOST_TASKS);
}

/** Returns the conversation with messages of graphs within the graph that earlier runs wrote. */
export function mergePastMessages(now: LiveRun, past: readonly NestedMessages[]): LiveRun {
  const known = now.nested.map(({ within }) => within);
  const added = past
    .filter(({ within }) => !known.includes(within))
    .map((one) => ({ ...one, isPast: true as const }));
  return mergeStateMessages({ ...now, nested: [...added, ...now.nested] }, now.messages);
}

/** Returns the conversation at the beginning of another run, which goes on behind these messages. */
export const prepareRun = ({ nested }: LiveRun, messages: MessageFields[]): LiveRun => ({
  ...NO_RUN,
  messages,
  nested: nested
    .filter(({ behind }) => behind <= messages.length)
    .map((one) => ({ ...one, isPast: true })),
});

function applyPiece(now: LiveRun, within: string, data: unknown): LiveRun {
  const next: unknown = Array.isArray(data) ? data[0] : undefined;
  if (!isObject(next)) return now;
  if (within === '') return { ...now, messages: joinMessage(now.messages, next) };
  const id = toText(next['id']);
  if (id !== '' && now.messages.some((one) => toText(one['id']) === id)) return now;
  const known = now.nested.find((one) => one.within === within);
  const group = known ?? { within, behind: now.messages.length, messages: [] };
  const changed = { ...group, messages: joinMessage(group.messages, next) };
  return {
    ...now,
    nested:
      known === undefined
        ? [...now.nested, changed]
        : now.nested.map((one) => (one === known ? changed : one)),
  };
}

function applyTask(now: LiveRun, within: string, data: unknown): LiveRun {
  if (!isObject(data) || toText(data['name']) === '') return now;
  const outer = within === '' ? [] : within.split('|').map((one) => one.split(':')[0] ?? one);
  const node = [...outer, toText(data['name'])].join(':');
  const { running, ended, failed } = now.nodes.get(node) ?? { running: 0, ended: 0, failed: false };
  const isEnd = 'result' in data || (data['error'] ?? null) !== null;
  const work = isEnd
    ? {
        running: Math.max(0, running - 1),
        ended: ended + 1,
        failed: failed || (data['error'] ?? null) !== null,
      }
    : { running: running + 1, ended, failed };
  return { ...now, nodes: new Map([...now.nodes, [node, work]]) };
}

/** Returns why a run failed, as a sentence. */
export function describeRunError(data: unknown): string {
  if (typeof data === 'string' && data !== '') return data;
  if (!isObject(data)) return 'The run has failed.';
  return (
    [toText(data['error']), toText(data['message'])].filter((part) => part !== '').join(': ') ||
    'The run has failed.'
  );
}
