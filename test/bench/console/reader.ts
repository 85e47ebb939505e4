import { request } from 'node:http';
import { now } from './processes.ts';

/** A token that was read: its number, when it was written, and when it came. */
export type ReadToken = { number: number; at: number; came: number };

type Place = { url: string; headers?: Record<string, string> };

const TOKEN = /"number":(\d+),"at":([\d.]+)/g;

/** Reads a chat to its end. Node's own client is used, because `fetch` costs this process more than the chats. */
export function readChat({ url, headers = {} }: Place): Promise<ReadToken[]> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        if (answer.statusCode !== 200)
          return reject(new Error(`A chat was answered with ${answer.statusCode}.`));
        const tokens: ReadToken[] = [];
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => {
          const came = now();
          const text = rest + piece;
          const end = text.lastIndexOf('\n\n');
          rest = text.slice(end + 1);
          for (const [, number, at] of text.slice(0, Math.max(0, end)).matchAll(TOKEN))
            tokens.push({ number: Number(number), at: Number(at), came });
        });
        answer.once('end', () => resolve(tokens));
        answer.once('error', reject);
      },
    );
    sent.once('error', reject);
    sent.end('{}');
  });
}
