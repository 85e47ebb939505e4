/* Answers of an agent, of which nothing is believed: a field of another type counts as empty. */

/** A thread, as far as the studio shows it. */
export type StudioThread = { id: string; status: string; changedAt: string; metadata: Fields; title: string; error: string; stack: string };

/** A checkpoint of a thread. */
export type ListedCheckpoint = { id: string; parent: string; madeAt: string; metadata: Fields; next: string[] };

/** A step of a thread: its checkpoint, how many messages stood before it, and the namespaces of its tasks. */
export type PastStep = { id: string; parent: string; messages: number; tasks: string[] };

/** A state of a thread. `fault`: why its graph refuses it; empty where it does not. */
export type ShownState = { id: string; messages: unknown[]; next: string[]; interrupts: unknown[]; madeAt: string; fault: string };

/** A version of an assistant, and the graph that it is of. */
export type AssistantVersion = { version: number; graph: string };

/** An assistant of the agent. */
export type StudioAssistant = { id: string; graph: string; name: string };

export type Fields = Record<string, unknown>;

/** Returns the fields of an object; none of anything else. */
export const answeredFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const timeOf = (value: unknown): string => (Number.isNaN(Date.parse(textOf(value))) ? '' : textOf(value));
const textsOf = (value: unknown): string[] => listOf(value).filter((one) => typeof one === 'string');

/** Returns the items of a list; none of anything else. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const LONGEST_TITLE = 120;

/** Returns a line that tells a thread from others: its title, or the first words of its conversation. */
function titleOfThread({ title }: Fields, first: unknown): string {
  const part = listOf(first)
    .map(answeredFields)
    .find(({ type }) => type === 'text');
  return (textOf(title) || textOf(first) || textOf(part?.['text'])).slice(0, LONGEST_TITLE);
}

/** Returns the address of a run's trace; undefined where the agent names none, or one that is no page of the web. */
export function traceAddress(info: unknown, run: unknown): string | undefined {
  const template = textOf(answeredFields(info)['trace_link']);
  if (!/^https?:\/\/[^/]/.test(template) || !template.includes('{trace_id}')) return undefined;
  const { run_id: id, kwargs } = answeredFields(run);
  // A run that no other trace has caused has a trace with the run's own id.
  const [, caused] = /^[\da-f]{2}-([\da-f]{32})-/.exec(textOf(answeredFields(answeredFields(kwargs)['trace'])['traceparent'])) ?? [];
  const trace = caused ?? textOf(id).replaceAll('-', '');
  if (!/^[\da-f]{32}$/.test(trace)) return undefined;
  const address = template.replaceAll('{trace_id}', trace);
  return URL.canParse(address) ? address : undefined;
}

/** Returns why the last run failed, as a sentence; empty where it did not. */
function errorOf(given: unknown): string {
  const { error, message } = answeredFields(given);
  return [textOf(error), textOf(message)].filter((part) => part !== '').join(': ');
}

/** Returns where a run failed; empty where its server keeps that to its log. */
export const stackOfError = (given: unknown): string => textOf(answeredFields(given)['stack']);

export function studioThread(answer: unknown): StudioThread {
  const { thread_id: id, status, updated_at: at, metadata, extracted, error } = answeredFields(answer);
  const labels = answeredFields(metadata);
  const title = titleOfThread(labels, answeredFields(extracted)['first']);
  return {
    id: textOf(id),
    status: textOf(status),
    changedAt: timeOf(at),
    metadata: labels,
    title,
    error: errorOf(error),
    stack: stackOfError(error),
  };
}

export function studioAssistant(answer: unknown): StudioAssistant {
  const { assistant_id: id, graph_id: graph, name } = answeredFields(answer);
  return { id: textOf(id), graph: textOf(graph), name: textOf(name) || textOf(graph) };
}

export function assistantVersion(answer: unknown): AssistantVersion {
  const { version, graph_id: graph } = answeredFields(answer);
  return { version: Number.isSafeInteger(version) ? Number(version) : 0, graph: textOf(graph) };
}

/** Returns the version of the assistant whose settings a run took. */
export const versionOfRun = (answer: unknown): unknown => answeredFields(answeredFields(answer)['kwargs'])['assistant_version'];

/** Returns the id of a run, and whether it goes on. */
export function studioRun(answer: unknown): { id: string; status: string } {
  const { run_id: id, status } = answeredFields(answer);
  return { id: textOf(id), status: textOf(status) };
}

/** Returns the sentence about a graph that is not served as its file says. The server's own part names the graph. */
export function graphFault(answer: unknown): string {
  const { graph_id: graph, error, serves } = answeredFields(answer);
  const sentence = /[.!?]$/.test(textOf(error)) ? textOf(error) : `${textOf(error)}.`;
  if (graph === null || serves !== 'nothing') return `${sentence} All graphs answer as before until this is mended.`;
  return `${sentence} It is not served until this is mended; the others are.`;
}

export function studioCheckpoint(answer: unknown): ListedCheckpoint {
  const { checkpoint_id: id, parent_checkpoint_id: parent, created_at: at, metadata, next } = answeredFields(answer);
  return { id: textOf(id), parent: textOf(parent), madeAt: timeOf(at), metadata: answeredFields(metadata), next: textsOf(next) };
}

/** Returns the namespaces of tasks, in which graphs within them keep their states. */
export const taskNamespaces = (tasks: unknown): string[] =>
  listOf(tasks)
    .map(answeredFields)
    .filter(({ id, name }) => textOf(id) !== '' && textOf(name) !== '' && textOf(name) !== '__start__')
    .map(({ id, name }) => `${textOf(name)}:${textOf(id)}`);

export function stateOfAnswer(answer: unknown): ShownState {
  const { checkpoint_id: id, messages, next, interrupts, created_at: at, error } = answeredFields(answer);
  const lists = { messages: listOf(messages), next: textsOf(next), interrupts: listOf(interrupts) };
  return { id: textOf(id), ...lists, madeAt: timeOf(at), fault: faultOfState(error) };
}

/** Returns why a graph refuses a state, by the `error` of that; empty where there is none. */
export function faultOfState(error: unknown): string {
  const { error: name, message } = answeredFields(error);
  return [name, message].map(textOf).filter(Boolean).join(': ');
}
