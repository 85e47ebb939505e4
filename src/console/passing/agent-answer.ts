import type { IncomingMessage } from 'node:http';
import { pipeline, Transform } from 'node:stream';

/** Bytes of an answer that is no stream of events: a state of a thread may have 20 MB. */
export const LARGEST_ANSWER = 64 * 1024 * 1024;
/** Milliseconds of silence after which an answer ends. Streams of agents have a sign of life every few seconds. */
const SILENCE = 120_000;

/** `bytes`: the most that the answer may have. */
type Bounds = { bytes: number; silence?: number };

/** The reason is one of a broken connection, so that nobody takes it for a fault of the console. */
const brokenOff = (message: string): Error => Object.assign(new Error(message), { code: 'ECONNRESET' });

/** Returns the body of an agent's answer, which ends in an error where it is too large, falls silent or breaks off. */
export function boundedAnswer(answer: IncomingMessage, { bytes, silence = SILENCE }: Bounds): Transform {
  let size = 0;
  const passed = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length;
      timer.refresh();
      if (size > bytes) done(brokenOff(`the answer has more than ${bytes} bytes`));
      else done(null, chunk);
    },
  });
  const timer = setTimeout(() => passed.destroy(brokenOff('the agent has fallen silent')), silence).unref();
  passed.once('close', () => clearTimeout(timer));
  // Either side that ends early ends the other; the page sees a broken answer, and no shorter one.
  pipeline(answer, passed, () => undefined);
  return passed;
}
