import type { TestProject } from 'vitest/node';
import { startApiServer } from './api-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    kubeconfig: string;
    auditLog: string;
  }
}

/** Starts one API server for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startApiServer();
  project.provide('kubeconfig', server.kubeconfig);
  project.provide('auditLog', server.auditLog);
  return () => server.stop();
}
