import { expect, test } from 'vitest';
import { buildDatabaseArguments } from '../../../../../src/operator/database/own/settings.ts';

const valueOf = (memoryMb: number, maxConnections: number, name: string): string | undefined =>
  buildDatabaseArguments({ memoryMb, maxConnections })
    .find((argument) => argument.startsWith(`${name}=`))
    ?.split('=')[1];

test.each([
  ['a quarter of the memory for buffers', [4096, 100, 'shared_buffers'] as const, '1024MB'],
  ['never less than Postgres can start with', [16, 20, 'shared_buffers'] as const, '16MB'],
  ['never so much that the rest starves', [1_000_000, 100, 'shared_buffers'] as const, '16384MB'],
  ['working memory shared by all connections', [4096, 100, 'work_mem'] as const, '15728kB'],
  ['a megabyte of it at least', [256, 1000, 'work_mem'] as const, '1024kB'],
])('%s', (_, [memory, connections, name], expected) => {
  expect(valueOf(memory, connections, name)).toBe(expected);
});
