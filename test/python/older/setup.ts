import { relative } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import { leaveOut } from '../left-out.ts';
import { LATER } from './table.ts';

/* With an older LangGraph, the tests of what it does not have are skipped, with the reason. */

leaveOut((file) =>
  inject('olderLangGraph') === undefined ? {} : (LATER[relative(process.cwd(), file)] ?? {}),
);
