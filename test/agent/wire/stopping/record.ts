import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What a graph recorded: a step that began, or what a tool says. `pid` is the server's, `runner` that of a graph in
 * Python. `at` is in milliseconds.
 */
export type Line = {
  run: string;
  pid: number;
  runner?: number;
  at: number;
  step?: number;
  says?: string;
};

/** A file in which graphs record what they do, which no database can take back; and one that ends their counting. */
export type Recorded = {
  journal: string;
  gate: string;
  of(runId: string): Line[];
  open(): void;
  remove(): void;
};

export function openRecord(): Recorded {
  const folder = mkdtempSync(join(tmpdir(), 'gx-stopping-'));
  const [journal, gate] = [join(folder, 'journal'), join(folder, 'gate')];
  writeFileSync(journal, '');
  const lines = (): Line[] =>
    readFileSync(journal, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  return {
    journal,
    gate,
    of: (runId) => lines().filter(({ run }) => run === runId),
    open: () => writeFileSync(gate, ''),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
