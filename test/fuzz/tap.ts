import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { joinSockets } from '../kit/tcp-proxy.ts';

/*
 * A door in front of a server. It hears every byte that a caller sends and gets: heads, bodies and streams, also those
 * that the caller does not read to their end. It changes none of them, so that odd requests arrive as they were sent.
 */
export type Tap = {
  url: string;
  /** The first answer of each operation that held a forbidden word: the operation, and the text before the word. */
  leaks(): string[];
  /** How many requests held one of the ids. */
  named(): number;
  stop(): void;
};

type Marks = { forbidden: string[]; ids: string[] };

/** Characters before a forbidden word that a report shows. */
const SHOWN = 200;

const REQUEST_LINE = /^([A-Z]+) (\S*) HTTP\/1\.[01]\r$/m;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** Opens a door in front of a server. */
export async function openTap(url: string, { forbidden, ids }: Marks): Promise<Tap> {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const leaks = new Map<string, string>();
  let named = 0;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    joinSockets(client, upstream, sockets);
    const [leaked, names] = [finder(forbidden), finder(ids)];
    const request = { operation: 'no request', hasName: false };
    client.on('data', (piece) => {
      const text = piece.toString('latin1');
      const line = REQUEST_LINE.exec(text);
      if (line !== null) Object.assign(request, { operation: operationOf(line), hasName: false });
      if (names(text) === undefined || request.hasName) return;
      request.hasName = true;
      named += 1;
    });
    upstream.on('data', (piece) => {
      const found = leaked(piece.toString('latin1'));
      if (found !== undefined && !leaks.has(request.operation)) leaks.set(request.operation, found);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leaks: () =>
      [...leaks].map(
        ([operation, text]) =>
          `${operation} answers with what is another's (${JSON.stringify(text)})`,
      ),
    named: () => named,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const operationOf = ([, method = '', target = '']: RegExpExecArray): string =>
  `${method} ${target.split('?')[0]?.replaceAll(UUID, '{id}')}`;

/** Finds the first of some words in a flow of text, also where it begins in one piece and ends in the next. */
function finder(words: string[]): (piece: string) => string | undefined {
  const longest = Math.max(1, ...words.map(({ length }) => length));
  let rest = '';
  return (piece) => {
    const text = rest + piece;
    rest = text.slice(Math.max(0, text.length - longest + 1));
    const word = words.find((one) => text.includes(one));
    return (
      word && text.slice(Math.max(0, text.indexOf(word) - SHOWN), text.indexOf(word) + word.length)
    );
  };
}
