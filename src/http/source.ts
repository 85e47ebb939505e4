import type { Socket } from 'node:net';

/** An IPv4 address as a server of both families sees it (RFC 4291, 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.)/i;

/**
 * Returns the address that a request comes from, in the form of its own family. Behind a proxy, it is the proxy's.
 */
export const sourceOf = ({ socket }: { socket: Pick<Socket, 'remoteAddress'> }): string =>
  socket.remoteAddress?.replace(MAPPED, '') ?? 'unknown';
