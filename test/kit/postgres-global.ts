import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { makeTemplate } from './postgres-template.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The connection string of the run's server, as its superuser. */
    postgres: string;
  }
}

/** Starts one Postgres for the whole run, with a database that every migration has been applied to. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-test-postgres-'));
  const server = await startPostgres({ folder, owner: 'a test run', durable: false });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  await makeTemplate(server.uri).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  project.provide('postgres', server.uri);
  return stop;
}
