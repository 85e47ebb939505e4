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
