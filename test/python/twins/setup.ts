import { relative } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import { TWINS_PYTHON } from '../../kit/twins.ts';
import { leaveOut } from '../left-out.ts';
import { TWINS } from './table.ts';

/* The servers of these tests run Python twins. Tests that the table leaves out are skipped, with its reason. */

process.env[TWINS_PYTHON] = `${inject('python')}/python`;

leaveOut((file) => TWINS[relative(process.cwd(), file)] ?? {});
