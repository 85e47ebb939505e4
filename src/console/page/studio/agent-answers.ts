/* Answers of an agent, of which nothing is believed: a field of another type counts as empty. */

export type StudioThread = {
  id: string;
  status: string;
  changedAt: string;
  metadata: Fields;
  title: string;
  error: string;
  stack: string;
};

export type ListedCheckpoint = {
  id: string;
  parent: string;
  madeAt: string;
  metadata: Fields;
  next: string[];
};

/** A step of a thread: its checkpoint, how many messages stood before it, and the namespaces of its tasks. */
export type PastStep = { id: string; parent: string; messages: number; tasks: string[] };

/** A step, with the run that it is of, its origin, when it was made, and the nodes that work next. */
export type TimedStep = PastStep & {
  madeAt: string;
  run: string;
  source: string;
  next: string[];
};

/** A run as its thread lists it. `usage`: the tokens of its models, as the server counted them. */
export type ListedRun = { id: string; status: string; begunAt: string; usage: unknown };

/** A call of a model. `cost`: US dollars; undefined where nobody knows. `isReported`: whether its tokens are known. */
export type ListedCall = {
  run: string;
  node: string;
  model: string;
  input: number;
  output: number;
  isReported: boolean;
  cost: number | undefined;
};

/** A state of a thread. `fault`: why its graph refuses it; empty where it does not. */
export type ShownState = {
  id: string;
  messages: unknown[];
  next: string[];
  interrupts: unknown[];
  madeAt: string;
  fault: string;
};

export type AssistantVersion = { version: number; graph: string };

export type StudioAssistant = { id: string; graph: string; name: string };

export type Fields = Record<string, unknown>;

/** Returns the fields of an object; none of anything else. */
export const readAnswerFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
export const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toTime = (value: unknown): string =>
  Number.isNaN(Date.parse(toText(value))) ? '' : toText(value);
const toTexts = (value: unknown): string[] =>
  toItems(value).filter((one) => typeof one === 'string');

/** Returns the items of a list; none of anything else. */
export const toItems = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const LONGEST_TITLE = 120;

/** Returns a line that tells a thread from others: its title, or the first words of its conversation. */
function chooseThreadTitle({ title }: Fields, first: unknown): string {
  const part = toItems(first)
    .map(readAnswerFields)
    .find(({ type }) => type === 'text');
  return (toText(title) || toText(first) || toText(part?.['text'])).slice(0, LONGEST_TITLE);
}

/** Returns the address of a run's trace; undefined where the agent names none, or one that is no page of the web. */
export function buildTraceAddress(info: unknown, run: unknown): string | undefined {
  const template = toText(readAnswerFields(info)['trace_link']);
  if (!/^https?:\/\/[^/]/.test(template) || !template.includes('{trace_id}')) return undefined;
  const { run_id: id, kwargs } = readAnswerFields(run);
  // A run that no other trace has caused has a trace with the run's own id.
  const [, caused] =
    /^[\da-f]{2}-([\da-f]{32})-/.exec(
      toText(readAnswerFields(readAnswerFields(kwargs)['trace'])['traceparent']),
    ) ?? [];
  const trace = caused ?? toText(id).replaceAll('-', '');
  if (!/^[\da-f]{32}$/.test(trace)) return undefined;
  const address = template.replaceAll('{trace_id}', trace);
  return URL.canParse(address) ? address : undefined;
}

/** Returns why the last run failed, as a sentence; empty where it did not. */
function describeError(given: unknown): string {
  const { error, message } = readAnswerFields(given);
  return [toText(error), toText(message)].filter((part) => part !== '').join(': ');
}

/** Returns where a run failed; empty where its server keeps that to its log. */
export const readErrorStack = (given: unknown): string => toText(readAnswerFields(given)['stack']);

export function toStudioThread(answer: unknown): StudioThread {
  const {
    thread_id: id,
    status,
    updated_at: at,
    metadata,
    extracted,
    error,
  } = readAnswerFields(answer);
  const labels = readAnswerFields(metadata);
  const title = chooseThreadTitle(labels, readAnswerFields(extracted)['first']);
  return {
    id: toText(id),
    status: toText(status),
    changedAt: toTime(at),
    metadata: labels,
    title,
    error: describeError(error),
    stack: readErrorStack(error),
  };
}

export function toStudioAssistant(answer: unknown): StudioAssistant {
  const { assistant_id: id, graph_id: graph, name } = readAnswerFields(answer);
  return { id: toText(id), graph: toText(graph), name: toText(name) || toText(graph) };
}

export function toAssistantVersion(answer: unknown): AssistantVersion {
  const { version, graph_id: graph } = readAnswerFields(answer);
  return { version: Number.isSafeInteger(version) ? Number(version) : 0, graph: toText(graph) };
}

/** Returns the version of the assistant whose settings a run took. */
export const readRunVersion = (answer: unknown): unknown =>
  readAnswerFields(readAnswerFields(answer)['kwargs'])['assistant_version'];

/** Returns the id of a run, and whether it goes on. */
export function toStudioRun(answer: unknown): { id: string; status: string } {
  const { run_id: id, status } = readAnswerFields(answer);
  return { id: toText(id), status: toText(status) };
}

export function toListedRun(answer: unknown): ListedRun {
  const { run_id: id, status, created_at: at, usage } = readAnswerFields(answer);
  return { id: toText(id), status: toText(status), begunAt: toTime(at), usage };
}

export function toListedCall(answer: unknown): ListedCall {
  const {
    run_id: run,
    node,
    model,
    input,
    output,
    reported,
    cost_usd: cost,
  } = readAnswerFields(answer);
  const toCount = (count: unknown): number =>
    typeof count === 'number' && Number.isFinite(count) ? count : 0;
  return {
    run: toText(run),
    node: toText(node),
    model: toText(model),
    input: toCount(input),
    output: toCount(output),
    isReported: reported === true,
    cost: typeof cost === 'number' && Number.isFinite(cost) ? cost : undefined,
  };
}

/** Returns the sentence about a graph that is not served as its file says. The server's own part names the graph. */
export function describeGraphFault(answer: unknown): string {
  const { graph_id: graph, error, serves } = readAnswerFields(answer);
  const sentence = /[.!?]$/.test(toText(error)) ? toText(error) : `${toText(error)}.`;
  if (graph === null || serves !== 'nothing')
    return `${sentence} All graphs answer as before until this is fixed.`;
  return `${sentence} It is not served until this is fixed; the others are.`;
}

export function toStudioCheckpoint(answer: unknown): ListedCheckpoint {
  const {
    checkpoint_id: id,
    parent_checkpoint_id: parent,
    created_at: at,
    metadata,
    next,
  } = readAnswerFields(answer);
  return {
    id: toText(id),
    parent: toText(parent),
    madeAt: toTime(at),
    metadata: readAnswerFields(metadata),
    next: toTexts(next),
  };
}

/** Returns the namespaces of tasks, in which graphs within them keep their states. */
export const listTaskNamespaces = (tasks: unknown): string[] =>
  toItems(tasks)
    .map(readAnswerFields)
    .filter(
      ({ id, name }) => toText(id) !== '' && toText(name) !== '' && toText(name) !== '__start__',
    )
    .map(({ id, name }) => `${toText(name)}:${toText(id)}`);

export function toShownState(answer: unknown): ShownState {
  const {
    checkpoint_id: id,
    messages,
    next,
    interrupts,
    created_at: at,
    error,
  } = readAnswerFields(answer);
  const lists = {
    messages: toItems(messages),
    next: toTexts(next),
    interrupts: toItems(interrupts),
  };
  return { id: toText(id), ...lists, madeAt: toTime(at), fault: describeStateFault(error) };
}

/** Returns why a graph refuses a state, by the `error` of that; empty where there is none. */
export function describeStateFault(error: unknown): string {
  const { error: name, message } = readAnswerFields(error);
  return [name, message].map(toText).filter(Boolean).join(': ');
}
