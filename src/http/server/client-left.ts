import { Unavailable } from '../../errors.ts';

/**
 * Why the signal of a request or a connection is aborted when its client is gone. Made once, because an abort without a
 * reason would cost each request an exception with its stack. Its name is that of an abort, which `fetch` and others
 * look at.
 */
export const CLIENT_LEFT = Object.assign(new Unavailable('The client has left.'), {
  name: 'AbortError',
});
