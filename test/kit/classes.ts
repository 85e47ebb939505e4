import { resolve } from 'node:path';
import process from 'node:process';

/*
 * Where GX_TEST_CLASSES is set, each graph in Python has values of classes in its state, which each of its steps looks
 * at (test/python/classes/site-packages/sitecustomize.py). The tests are the same.
 */

const FOLDER = 'test/python/classes/site-packages';
/** Each step writes a line into it. */
export const SEEN = resolve('.run/test/classes-seen');

export const withClasses = (): boolean => process.env['GX_TEST_CLASSES'] !== undefined;

/** Returns the environment of a server whose graphs are to have such states. */
export const environmentOfClasses = (): Record<string, string> =>
  withClasses() ? { PYTHONPATH: resolve(FOLDER), GX_TEST_CLASSES_SEEN: SEEN } : {};
