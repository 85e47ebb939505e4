import process from 'node:process';
import type { LeftOut } from '../left-out.ts';

/*
 * What the tests of Python graphs are about that LangGraph does not have before 1.2, with the reasons. All other tests
 * run over the older versions, too.
 */

const STREAMING = 'Event streaming needs LangGraph 1.2.';

/** Files and folders whose servers can't even start. */
const LATER_FILES: Readonly<Record<string, string>> = {
  'test/python/agents.test.ts': 'The packages of its agents need LangGraph 1.2, and are installed by its own file of requirements.',
  'test/python/event-streaming.test.ts': STREAMING,
  'test/agent/event-streaming/': STREAMING,
};

const isOfLater = (file: string): boolean => Object.keys(LATER_FILES).some((name) => file.startsWith(name));

/** Leaves out the files that are about a later LangGraph than the one that GX_TEST_LANGGRAPH names. */
export const thatItHas = (files: string[]): string[] =>
  process.env['GX_TEST_LANGGRAPH'] === undefined ? files : files.filter((file) => !isOfLater(file));

export const LATER: Readonly<Record<string, LeftOut>> = {};
