import { LOST_RIGHT } from '../../../schema/wire/lost-right.ts';
import { parseBlock } from '../live/event-blocks.ts';

/**
 * An event of a run: its kind, the graph within the graph that it is of, and its data, which is not parsed yet.
 * `id`: its place in the stream; undefined for an event without one.
 */
export type RunStreamEvent = { kind: string; within: string; text: string; id: string | undefined };

/** Letters of an event. A longer one is passed over: the state that it would bring is read when the run is over. */
const LONGEST = 1_000_000;
const END = /\r?\n\r?\n/;
/** Letters that the end of an event may have. */
const END_LETTERS = 4;

/** Reads events from pieces of text of any length. A block without data is only a sign of life. */
export async function* runStreamEvents(
  pieces: AsyncIterable<string>,
): AsyncGenerator<RunStreamEvent> {
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
      const event = isTooLong ? undefined : parseEvent(block);
      isTooLong = false;
      if (event !== undefined) yield event;
    }
    if (rest.length <= LONGEST) continue;
    isTooLong = true;
    rest = rest.slice(-END_LETTERS);
  }
}

function parseEvent(block: string): RunStreamEvent | undefined {
  const { event, id, text } = parseBlock(block);
  if (text === '') return undefined;
  const [kind = '', ...within] = event.split('|');
  return { kind, within: within.join('|'), text, id };
}

/** Returns the id of the run that an address is of. */
export const parseRunId = (address: string | null): string | undefined =>
  /\/runs\/([\w-]+)/.exec(address ?? '')?.[1];

/** True for the event with which a stream ends because the credentials that opened it have ended. */
export const isLostRight = ({ kind, text }: RunStreamEvent): boolean =>
  kind === 'error' && text === JSON.stringify(LOST_RIGHT);

/** Yields the texts of a body. A connection that breaks ends them, as a server that stops does. */
export async function* readTextPieces({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = async (): Promise<string | undefined> => {
    try {
      return (await reader?.read())?.value;
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      return undefined;
    }
  };
  for (let piece = await read(); piece !== undefined; piece = await read()) yield piece;
}
