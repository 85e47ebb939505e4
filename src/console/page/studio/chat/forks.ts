/* The checkpoint from which a message is written once more, so that both ways stay in the thread. */

type Held = { messages: readonly unknown[] };
type KnownCheckpoint = { id: string; parent: string; metadata: Record<string, unknown> };

const hasMessage = ({ messages }: Held, id: string): boolean =>
  messages.some((one) => typeof one === 'object' && one !== null && 'id' in one && one.id === id);

/**
 * Returns the oldest checkpoint of a lineage that has the message; undefined where none has it. `lineage` begins with
 * the newest. A few states are read, because all younger ones have it, too.
 */
export async function findFirstWith(
  lineage: readonly string[],
  message: string,
  state: (id: string) => Promise<Held>,
): Promise<string | undefined> {
  let [has, lacks] = [-1, lineage.length];
  while (lacks - has > 1) {
    const middle = Math.floor((has + lacks) / 2);
    if (hasMessage(await state(lineage[middle] ?? ''), message)) has = middle;
    else lacks = middle;
  }
  return lineage[has];
}

/** Returns the checkpoint before the step that wrote a message, or before the input that brought it. */
export function findForkPoint(
  known: readonly KnownCheckpoint[],
  first: string | undefined,
  place: 'before its input' | 'before its step',
): string | undefined {
  const findKnown = (id: string | undefined): KnownCheckpoint | undefined =>
    known.find((one) => one.id === id);
  const before = findKnown(findKnown(first)?.parent);
  if (place === 'before its step' || before?.metadata['source'] !== 'input') return before?.id;
  // The first input of a thread has nothing before it. Its own checkpoint takes another input in its place.
  return findKnown(before.parent)?.id ?? before.id;
}
