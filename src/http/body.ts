import type { IncomingMessage } from 'node:http';
import { Invalid, Problem } from '../errors.ts';

/** Reads a whole JSON body of at most `limit` bytes. An empty body is `undefined`. Throws 413 or 422. */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  const tooLarge = (): Problem => new Problem(413, `Request body is larger than ${limit} bytes`, { headers: { connection: 'close' } });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const bytes = request.headers['content-length'] === undefined ? await unmeasured(request, limit, tooLarge) : await measured(request);
  return bytes.length === 0 ? undefined : parseJson(bytes);
}

/** Reads a body whose length the headers give. The HTTP parser lets no more through. */
function measured(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => request.complete || reject(new Problem(400, 'The request ended before its body.')));
  });
}

async function unmeasured(request: IncomingMessage, limit: number, tooLarge: () => Problem): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    throw new Invalid([{ loc: ['body'], msg: 'Invalid JSON in request body', type: 'json_invalid' }], { cause: error });
  }
}
