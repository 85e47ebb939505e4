/** An event of a stream. Its data is text, which is not parsed yet. */
export type EventBlock = { event: string; id: string | undefined; text: string };

/** The same with its data as a value. */
export type StreamMessage = { event: string; id: string | undefined; data: unknown };

const END = /\r?\n\r?\n/;
/** Letters that the end of an event may have. */
const END_LETTERS = 4;

/**
 * Reads events from pieces of text of any length. A block without data is only a sign of life. An event of more letters
 * than `longest` is passed over.
 */
export async function* readEventBlocks(
  pieces: AsyncIterable<string>,
  longest = Infinity,
): AsyncGenerator<EventBlock> {
  let rest = '';
  // Of an event that is too long, only the last letters are kept, which may be a part of its end.
  let isTooLong = false;
  for await (const piece of pieces) {
    const text = rest + piece;
    const blocks = END.test(text.slice(Math.max(0, rest.length - END_LETTERS)))
      ? text.split(END)
      : [text];
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = isTooLong ? undefined : parseBlock(block);
      isTooLong = false;
      if (event !== undefined) yield event;
    }
    if (rest.length <= longest) continue;
    isTooLong = true;
    rest = rest.slice(-END_LETTERS);
  }
}

/** Returns the fields of a block; undefined for one without data. */
function parseBlock(block: string): EventBlock | undefined {
  const lines = block.split(/\r?\n/);
  const listValues = (field: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const text = listValues('data').join('\n');
  if (text === '') return undefined;
  return { event: listValues('event').at(-1) ?? 'message', id: listValues('id').at(-1), text };
}
