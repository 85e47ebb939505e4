import type { IncomingMessage, ServerResponse } from 'node:http';

/** Bytes of a refused body that are read and forgotten, so that its connection serves the next request. */
const FORGOTTEN = 1024 * 1024;
/** Milliseconds in which a client can read its answer before the connection ends. */
const LINGER = 1000;

/**
 * Leaves the rest of a refused request's body unread where it is large. The answer says that the connection ends with
 * it, and it does a second later: to end it at once, with bytes unread, would take the answer from the client. Node
 * itself would read all of it: a stranger with a hundred connections had the server read 700 MB that it had refused,
 * while others waited. The headers of `response` must not have been sent.
 */
export function leaveUnread(request: IncomingMessage, response: ServerResponse): void {
  const isReadElsewhere = request.readableFlowing !== null;
  if (
    request.complete ||
    request.destroyed ||
    isReadElsewhere ||
    getAnnouncedBytes(request) <= FORGOTTEN
  )
    return;
  endLate(request, response);
  // Node reads on only in a body of which nobody has read anything.
  request.read(0);
}

/** Does the same with a body that others have begun to read, and read no more. */
export function leaveUnreadLate(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return;
  request.unpipe();
  endLate(request, response);
}

function endLate({ socket }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close');
  // Node calls this after an answer that ends its connection.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER).unref();
  };
}

const getAnnouncedBytes = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
