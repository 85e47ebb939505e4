import { readdirSync } from 'node:fs';
import path from 'node:path';

/** Words for the copy of an environment file that lies in its repository, the most usual one first. */
const WORDS = ['example', 'sample', 'template', 'dist'];

/**
 * Returns the copy to fill in of an environment file that is not there, beside it: for `.env` mostly `.env.example`,
 * else one of a kind such as `.env.full.example`, or one without the dot such as `example.env`.
 */
export function findEnvExample(file: string): string | undefined {
  const { dir, base } = path.parse(file);
  const plain = base.replace(/^\./, '');
  const beside = listFiles(dir);
  const usual = WORDS.flatMap((word) => [
    `${base}.${word}`,
    `${base}-${word}`,
    `${plain}.${word}`,
    `${word}.${plain}`,
  ]).find((name) => beside.includes(name));
  return (
    usual ??
    beside.find(
      (name) => name.startsWith(`${base}.`) && WORDS.some((word) => name.endsWith(`.${word}`)),
    )
  );
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    // A folder that is not there, or that this user may not read, has no copy to name.
    return [];
  }
}
