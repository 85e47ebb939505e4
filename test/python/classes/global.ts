import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { printLine } from '../../../dev/steps.ts';
import { SEEN, withClasses } from '../../kit/classes.ts';

/** Counts what the steps of all graphs have found. Fails where none has looked, or one has missed a class. */
export default function setup(): () => void {
  if (!withClasses()) return () => undefined;
  mkdirSync(dirname(SEEN), { recursive: true });
  rmSync(SEEN, { force: true });
  return () => {
    const lines = existsSync(SEEN) ? readFileSync(SEEN, 'utf8').trimEnd().split('\n') : [];
    const of = (kind: string): string[] => lines.filter((line) => line.startsWith(`${kind} `));
    const missing = [...new Set(of('misses'))];
    const nodes = new Set(of('finds')).size;
    printLine(
      `classes in states: ${of('finds').length} steps of ${nodes} nodes found them, ${of('begins').length} had none before them`,
    );
    if (nodes === 0 || missing.length > 0)
      throw new Error(`Classes were missed, or nobody looked: ${missing.join(', ')}`);
  };
}
