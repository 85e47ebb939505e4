import type { TestProject } from 'vitest/node';
import { olderOf, type Older } from '../python/older/versions.ts';
import { olderTools, pythonTools } from '../python/tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the programs of a Python that has LangGraph. */
    python: string;
    /** The LangGraph there, if it is an older one. */
    olderLangGraph: Older | undefined;
  }
}

/** Installs LangGraph's Python packages, unless an earlier run has done so. GX_TEST_LANGGRAPH names an older one. */
export default async function setup(project: TestProject): Promise<void> {
  const asked = process.env['GX_TEST_LANGGRAPH'];
  const older = asked === undefined ? undefined : olderOf(asked);
  project.provide('python', older === undefined ? await pythonTools() : await olderTools(older));
  project.provide('olderLangGraph', older);
}
