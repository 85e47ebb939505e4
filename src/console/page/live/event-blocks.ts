export type StreamMessage = { event: string; id: string | undefined; data: unknown };

/** Returns the whole messages of a text, and the rest that is not whole yet. A block without data is a sign of life. */
export function parseMessages(text: string): { messages: StreamMessage[]; rest: string } {
  const blocks = text.split(/\r?\n\r?\n/);
  const rest = blocks.pop() ?? '';
  return { messages: blocks.flatMap(toMessages), rest };
}

/** Returns the fields of a block. Its data is text, and empty where it has none. */
export function parseBlock(block: string): { event: string; id: string | undefined; text: string } {
  const lines = block.split(/\r?\n/);
  const listValues = (field: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  return {
    event: listValues('event').at(-1) ?? 'message',
    id: listValues('id').at(-1),
    text: listValues('data').join('\n'),
  };
}

function toMessages(block: string): StreamMessage[] {
  const { event, id, text } = parseBlock(block);
  return text === '' ? [] : [{ event, id, data: JSON.parse(text) as unknown }];
}
