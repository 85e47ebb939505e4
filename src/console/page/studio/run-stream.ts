/** An event of a run: its kind, the graph within the graph that it is of, and its data, which is not parsed yet. */
export type RunStreamEvent = { kind: string; within: string; text: string };

/** Reads events from pieces of text of any length. A block without data is only a sign of life. */
export async function* runStreamEvents(pieces: AsyncIterable<string>): AsyncGenerator<RunStreamEvent> {
  let rest = '';
  for await (const piece of pieces) {
    const blocks = (rest + piece).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOfBlock(block);
      if (event !== undefined) yield event;
    }
  }
}

function eventOfBlock(block: string): RunStreamEvent | undefined {
  const lines = block.split(/\r?\n/);
  const valuesOf = (field: string): string[] =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const text = valuesOf('data').join('\n');
  if (text === '') return undefined;
  const [kind = '', ...within] = (valuesOf('event').at(-1) ?? 'message').split('|');
  return { kind, within: within.join('|'), text };
}
