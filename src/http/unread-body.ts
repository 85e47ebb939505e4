import type { IncomingMessage } from 'node:http';

/** Bytes of a refused body that are read and forgotten, so that its connection serves the next request. */
const FORGOTTEN = 1024 * 1024;
/** Milliseconds in which a client can read its answer before the connection ends. */
const LINGER = 1000;

/**
 * Leaves the rest of a refused request's body unread where it is large. The client reads its answer, and the connection
 * ends a second later. Node itself would read all of it: a stranger with a hundred connections had the server read
 * 700 MB that it had refused, while others waited.
 */
export function leaveUnread(request: IncomingMessage): void {
  const isReadElsewhere = request.readableFlowing !== null;
  if (request.complete || request.destroyed || isReadElsewhere || announcedBytes(request) <= FORGOTTEN) return;
  // Node reads on only in a body of which nobody has read anything.
  request.read(0);
  setTimeout(() => request.socket.destroy(), LINGER).unref();
}

const announcedBytes = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
