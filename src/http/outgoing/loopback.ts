import { isIP } from 'node:net';

/** Returns whether a name, or an address as a URL writes it, is of this machine itself. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '[::1]' ||
  (isIP(name) === 4 && name.startsWith('127.'));
