export type ServerSentEvent = { event: string; data: unknown };

/** Reads server-sent events, whose data is JSON, from pieces of text of any length. */
export async function* serverSentEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  for await (const piece of pieces) {
    const blocks = (rest + piece).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) yield event;
    }
  }
}

/** Parses one block. A block without data is only a sign of life. */
function eventOf(block: string): ServerSentEvent | undefined {
  const lines = block.split(/\r?\n/);
  const valuesOf = (field: string): string[] =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = valuesOf('data').join('\n');
  return data === '' ? undefined : { event: valuesOf('event').at(-1) ?? 'message', data: JSON.parse(data) as unknown };
}
