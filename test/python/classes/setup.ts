import { relative } from 'node:path';
import process from 'node:process';
import { withClasses } from '../../kit/classes.ts';
import { leaveOut } from '../left-out.ts';
import { LEFT_OUT_WITH_CLASSES } from './table.ts';

/* Where all states hold values of classes, tests of what only plain states have are skipped, with the reason. */

leaveOut((file) =>
  withClasses() ? (LEFT_OUT_WITH_CLASSES[relative(process.cwd(), file)] ?? {}) : {},
);
