import type { TestProject } from 'vitest/node';
import { pythonTools } from '../python/tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the programs of a Python that has LangGraph. */
    python: string;
  }
}

/** Installs LangGraph's Python packages, unless an earlier run has done so. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('python', await pythonTools());
}
