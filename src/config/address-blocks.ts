import { isIP } from 'node:net';
import type { SettingsReader } from './env.ts';

/** Reads a list of addresses and blocks of them. */
export const readAddressBlocks = (read: SettingsReader, name: string): string[] =>
  checkAddressBlocks(read, name, read.readWords([name]));

/** Returns the words. Those that are no address or block are a problem of the setting. */
export function checkAddressBlocks(read: SettingsReader, name: string, words: string[]): string[] {
  const wrong = words.filter((word) => !isBlock(word));
  if (wrong.length > 0)
    read.addProblem(
      `${name} must be addresses or blocks such as 10.0.0.0/8, which ${wrong.join(', ')} is not`,
    );
  return words;
}

/** Reads the proxies whose `X-Forwarded-*` count. None by default. */
export const readTrustedProxies = (read: SettingsReader): string[] =>
  readAddressBlocks(read, 'GX_TRUSTED_PROXIES');

/** Returns whether the word is an address, or a block of some of them. All addresses are no block. */
function isBlock(word: string): boolean {
  const [address = '', length, ...more] = word.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || more.length > 0) return false;
  return (
    length === undefined ||
    (/^[1-9]\d{0,2}$/.test(length) && Number(length) <= (family === 6 ? 128 : 32))
  );
}
