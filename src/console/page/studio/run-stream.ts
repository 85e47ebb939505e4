import { LOST_RIGHT } from '../../../schema/wire/lost-right.ts';
import { readEventBlocks } from '../live/event-blocks.ts';

/**
 * An event of a run: its kind, the graph within the graph that it is of, and its data, which is not parsed yet.
 * `id`: its place in the stream; undefined for an event without one.
 */
export type RunStreamEvent = { kind: string; within: string; text: string; id: string | undefined };

/** Letters of an event. A longer one is passed over: the state that it would bring is read when the run is over. */
const LONGEST = 1_000_000;

/** Reads the events of a run from pieces of text of any length. */
export async function* runStreamEvents(
  pieces: AsyncIterable<string>,
): AsyncGenerator<RunStreamEvent> {
  for await (const { event, id, text } of readEventBlocks(pieces, LONGEST)) {
    const [kind = '', ...within] = event.split('|');
    yield { kind, within: within.join('|'), text, id };
  }
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
