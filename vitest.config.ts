import { globSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { thatItHas } from './test/python/older/table.ts';
import { TWINS } from './test/python/twins/table.ts';
import { findSuite } from './test/suite-folders.ts';

const files = globSync('test/**/*.test.ts').toSorted();
const of = (name: string): string[] => files.filter((file) => findSuite(file) === name);

/**
 * Files of these projects share their modules, so that each of a suite's processes loads them once. A file that changes
 * clocks, variables of the environment or other things of its process puts them back.
 */
const isolate = false;

/**
 * Milliseconds in which a polled value has to come true: a machine with other work is slow, and an idle one does not
 * wait.
 */
const expect = { poll: { timeout: 20_000 } };

export default defineConfig({
  test: {
    // A failure that only CI sees must tell all: lists of failed requests are not cut to their first words.
    chaiConfig: { truncateThreshold: 2000 },
    projects: [
      { test: { name: 'unit', include: of('unit'), isolate, testTimeout: 30_000, expect } },
      { test: { name: 'charts', include: of('charts'), isolate, testTimeout: 60_000 } },
      {
        test: {
          name: 'packets',
          include: of('packets'),
          testTimeout: 60_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          name: 'kube',
          include: of('kube'),
          isolate,
          globalSetup: ['test/kit/api-server-global.ts'],
          expect,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'agent',
          include: of('agent'),
          isolate,
          globalSetup: ['test/kit/postgres-global.ts', 'test/kit/bundle-global.ts'],
          expect,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'crash',
          include: of('crash'),
          globalSetup: [
            'test/kit/postgres-global.ts',
            'test/kit/bundle-global.ts',
            'test/kit/python-global.ts',
          ],
          expect,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          // Each starts several servers, and measures how long they take.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'python',
          include: thatItHas(of('python')),
          globalSetup: [
            'test/kit/postgres-global.ts',
            'test/kit/bundle-global.ts',
            'test/kit/python-global.ts',
            'test/python/classes/global.ts',
          ],
          setupFiles: ['test/python/older/setup.ts', 'test/python/classes/setup.ts'],
          expect,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'routes',
          include: of('routes'),
          globalSetup: ['test/kit/postgres-global.ts', 'test/kit/bundle-global.ts'],
          expect,
          testTimeout: 180_000,
          // The first time, the controllers are compiled.
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          name: 'twins',
          include: thatItHas(Object.keys(TWINS)),
          globalSetup: [
            'test/kit/postgres-global.ts',
            'test/kit/bundle-global.ts',
            'test/kit/python-global.ts',
            'test/python/classes/global.ts',
          ],
          setupFiles: [
            'test/python/twins/setup.ts',
            'test/python/older/setup.ts',
            'test/python/classes/setup.ts',
          ],
          expect,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'browser',
          include: of('browser'),
          globalSetup: ['test/kit/postgres-global.ts', 'test/browser/page-global.ts'],
          expect,
          testTimeout: 180_000,
          hookTimeout: 120_000,
          // One browser at a time, so that events come in time.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'console',
          include: of('browser/console'),
          isolate,
          globalSetup: ['test/kit/api-server-global.ts', 'test/browser/console/console-global.ts'],
          expect,
          testTimeout: 180_000,
          hookTimeout: 300_000,
          // One browser at a time, so that frames come in time.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'faults',
          include: of('faults'),
          globalSetup: ['test/kit/api-server-global.ts'],
          // Each kills or slows something, and waits for the others to go on.
          fileParallelism: false,
          expect,
          testTimeout: 1_200_000,
          hookTimeout: 120_000,
        },
      },
      // Each waits until something is late, or for a proxy that lets it wait.
      {
        test: {
          name: 'company',
          include: of('company'),
          globalSetup: ['test/kit/api-server-global.ts'],
          fileParallelism: false,
          expect,
          testTimeout: 400_000,
          hookTimeout: 120_000,
        },
      },
      // Both install real packages, as builds do.
      {
        test: {
          name: 'builder',
          include: of('builder'),
          expect,
          testTimeout: 600_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          name: 'shapes',
          include: of('shapes'),
          globalSetup: ['test/kit/postgres-global.ts', 'test/kit/bundle-global.ts'],
          expect,
          testTimeout: 300_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          name: 'projects',
          include: of('projects'),
          globalSetup: ['test/kit/postgres-global.ts', 'test/kit/bundle-global.ts'],
          expect,
          testTimeout: 600_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          name: 'dockerfiles',
          include: of('dockerfiles'),
          globalSetup: ['test/kit/postgres-global.ts'],
          expect,
          testTimeout: 300_000,
          // The first time, all images below are built.
          hookTimeout: 1_200_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'scale',
          include: of('scale'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 1_200_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'rollouts',
          include: of('rollouts'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 3_600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'runbooks',
          include: of('runbooks'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 3_600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'system',
          include: of('system'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 480_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'restore',
          include: of('restore'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'company-pods',
          include: of('company-pods'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'upgrade',
          include: of('upgrade'),
          globalSetup: ['test/upgrade/release-global.ts'],
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        test: {
          name: 'cnpg',
          include: of('cnpg'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 900_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'air-gapped',
          include: of('air-gapped'),
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        test: {
          name: 'builds',
          include: of('builds'),
          globalSetup: ['test/kit/cluster-global.ts'],
          testTimeout: 900_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
