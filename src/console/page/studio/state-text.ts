/** Letters of a state that are shown. A browser that lays out more than that does nothing else for a while. */
const MOST = 100_000;

/** A value as text: the beginning that is shown, and how many letters there are. */
export type CutText = { shown: string; letters: number };

/** Returns a value of an agent as indented JSON. */
export function formatState(value: unknown, most: number = MOST): CutText {
  const text = JSON.stringify(value, undefined, 2) ?? '';
  return {
    shown: text.length > most ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') : text,
    letters: text.length,
  };
}

/** Letters of a node's name in a sentence, and nodes in it. */
const NAME = 60;
const NAMES = 20;
/** LangGraph's own node before all others. */
const START = '__start__';

/** Returns names of nodes for a sentence. Names and lists that are long are cut. */
export function formatNames(names: readonly string[]): string {
  const some = names
    .slice(0, NAMES)
    .map((name) => (name === START ? 'the first node' : name))
    .map((name) => (name.length > NAME ? `${name.slice(0, NAME)} …` : name));
  return [...some, ...(names.length > NAMES ? [`${names.length - NAMES} more`] : [])].join(', ');
}

const SOURCES = new Map(
  Object.entries({ input: 'Input', loop: 'Step', update: 'Edited', fork: 'Fork' }),
);

/** Returns the words for a checkpoint, by its origin. */
export function describeCheckpoint(metadata: unknown): string {
  const { source, step } = (metadata ?? {}) as Record<string, unknown>;
  const what = SOURCES.get(String(source)) ?? 'Checkpoint';
  // The first input has the number -1.
  return typeof step === 'number' && step >= 0 ? `${what} ${step}` : what;
}
