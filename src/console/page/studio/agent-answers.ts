/* Answers of an agent, of which nothing is believed: a field of another type counts as empty. */

/** A thread, as far as the studio shows it. */
export type StudioThread = { id: string; status: string; changedAt: string; metadata: Fields; title: string };

/** A checkpoint of a thread. */
export type ListedCheckpoint = { id: string; madeAt: string; metadata: Fields; next: string[] };

/** A state of a thread. */
export type ShownState = { values: unknown; next: string[]; interrupts: unknown[]; madeAt: string };

export type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const timeOf = (value: unknown): string => (Number.isNaN(Date.parse(textOf(value))) ? '' : textOf(value));
const textsOf = (value: unknown): string[] => listOf(value).filter((one) => typeof one === 'string');

/** Returns the items of a list; none of anything else. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const LONGEST_TITLE = 120;

/** Returns a line that tells a thread from others: its title, or the first words of its conversation. */
function titleOfThread({ title }: Fields, first: unknown): string {
  const part = listOf(first)
    .map(fieldsOf)
    .find(({ type }) => type === 'text');
  return (textOf(title) || textOf(first) || textOf(part?.['text'])).slice(0, LONGEST_TITLE);
}

export function studioThread(answer: unknown): StudioThread {
  const { thread_id: id, status, updated_at: at, metadata, extracted } = fieldsOf(answer);
  const labels = fieldsOf(metadata);
  const title = titleOfThread(labels, fieldsOf(extracted)['first']);
  return { id: textOf(id), status: textOf(status), changedAt: timeOf(at), metadata: labels, title };
}

export function studioCheckpoint(answer: unknown): ListedCheckpoint {
  const { checkpoint_id: id, created_at: at, metadata, next } = fieldsOf(answer);
  return { id: textOf(id), madeAt: timeOf(at), metadata: fieldsOf(metadata), next: textsOf(next) };
}

export function stateOfAnswer(answer: unknown): ShownState {
  const { values, next, interrupts, created_at: at } = fieldsOf(answer);
  return { values, next: textsOf(next), interrupts: listOf(interrupts), madeAt: timeOf(at) };
}
