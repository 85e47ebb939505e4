/** A message of an event stream. `id` is undefined where it has none. */
export type StreamMessage = { event: string; id: string | undefined; data: unknown };

/** Returns the whole messages of a text, and the rest that is not whole yet. A block without data is a sign of life. */
export function messagesIn(text: string): { messages: StreamMessage[]; rest: string } {
  const blocks = text.split(/\r?\n\r?\n/);
  const rest = blocks.pop() ?? '';
  return { messages: blocks.flatMap(messageOf), rest };
}

function messageOf(block: string): StreamMessage[] {
  const lines = block.split(/\r?\n/);
  const valuesOf = (field: string): string[] =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = valuesOf('data').join('\n');
  if (data === '') return [];
  return [{ event: valuesOf('event').at(-1) ?? 'message', id: valuesOf('id').at(-1), data: JSON.parse(data) as unknown }];
}
