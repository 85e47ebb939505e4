import { Unavailable } from '../errors.ts';
import { buildKubeError } from './errors.ts';
import type { WatchEvent } from './kube.ts';
import type { Stream } from './transport.ts';

/**
 * Yields the events of one watch, one JSON object a line. It ends when the server ends the watch, and throws when the
 * connection breaks.
 */
export async function* watchStream<T>(
  response: Stream,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  try {
    if (response.statusCode !== 200)
      throw buildKubeError(response.statusCode ?? 0, await readRest(response));
    for await (const line of readLines(response)) {
      const event = JSON.parse(line) as WatchEvent<T>;
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Unavailable('the watch broke off', { cause: error });
  } finally {
    response.destroy();
  }
}

async function* readLines(response: Stream): AsyncGenerator<string> {
  response.setEncoding('utf8');
  const parts: string[] = [];
  for await (const chunk of response as AsyncIterable<string>) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      parts.push(chunk.slice(from, end));
      const line = parts.splice(0).join('');
      if (line !== '') yield line;
      from = end + 1;
    }
    parts.push(chunk.slice(from));
  }
}

async function readRest(response: Stream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer | string>)
    chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
