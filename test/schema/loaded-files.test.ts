import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/* Types vanish before a file is loaded. */
const LOADED =
  /^(?:import|export) (?!type\b)[^;]*?from '(\.{1,2}\/[^']+)';|\bimport\('(\.{1,2}\/[^']+)'\)/gms;

function listLoaded(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, fixed, late] of readFileSync(file, 'utf8').matchAll(LOADED))
    listLoaded(join(dirname(file), fixed ?? late ?? ''), found);
  return found;
}

test.each([
  'src/agent/process/start.ts',
  'src/agent/graph-thread/main.ts',
  'src/agent/process-runner/main.ts',
  'src/gateway/start.ts',
])('%s loads no custom resources, whose schemas its process never reads', (start) => {
  const loaded = listLoaded(start);
  expect(loaded.size).toBeGreaterThan(20);
  expect([...loaded].filter((file) => file.includes('schema/platform/'))).not.toContain(
    'src/schema/platform/resources/custom-resources.ts',
  );
});
