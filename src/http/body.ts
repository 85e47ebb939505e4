import type { IncomingMessage } from 'node:http';
import { Invalid, Problem } from '../errors.ts';

/** Reads a whole JSON body of at most `limit` bytes. An empty body is `undefined`. Throws 413 or 422. */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  const tooLarge = (): Problem => new Problem(413, `Request body is larger than ${limit} bytes`, { headers: { connection: 'close' } });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  return parseJson(Buffer.concat(chunks));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    throw new Invalid([{ loc: ['body'], msg: 'Invalid JSON in request body', type: 'json_invalid' }], { cause: error });
  }
}
