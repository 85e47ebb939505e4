import { describe, expect, test } from 'vitest';
import { listDifferences } from '../../../src/console/page/deployment/differences.ts';
import { listDifferingNames, readDotEnv } from '../../../src/console/page/deployment/dot-env.ts';
import { findGitOpsManager } from '../../../src/console/page/deployment/git-ops-manager.ts';
import {
  formatOrigin,
  listRolloutSteps,
  getRepeatLabel,
} from '../../../src/console/page/deployment/revision-words.ts';
import {
  DRAWN,
  LogLines,
  readEntry,
  stripColours,
  type ShownLine,
} from '../../../src/console/page/logs/log-lines.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';

test.each([
  [
    '{"level":"error","time":"2026-01-01T00:00:00Z","msg":"run failed","node":"cook","err":{"type":"RangeError","message":"no gas"}}',
    {
      message: 'run failed: RangeError: no gas',
      fields: 'node=cook err={"type":"RangeError","message":"no gas"}',
    },
  ],
  ['{"level":"info","msg":"ready"}', { message: 'ready', fields: '' }],
  ['{"answer": 42}', { message: '{"answer": 42}', fields: '' }],
  ['{ no JSON', { message: '{ no JSON', fields: '' }],
  ['words', { message: 'words', fields: '' }],
])('the line %s of a log is read by people', (text, entry) => {
  expect(readEntry(text)).toEqual(entry);
});

describe('a revision is asked for once more', () => {
  const newest = { isNewest: true, isServing: false };
  const older = { isNewest: false, isServing: false };
  test.each([
    [
      'the one that serves, behind a failed one',
      'DEPLOYED',
      { ...older, isServing: true },
      'Go back to this (serves now)',
    ],
    ['a failed one that is the newest', 'DEPLOY_FAILED', newest, 'Try again'],
    ['a failed one before it', 'BUILD_FAILED', older, 'Roll back to this'],
    ['an earlier one', 'DEPLOYED', older, 'Roll back to this'],
    ['the newest, which serves', 'DEPLOYED', { ...newest, isServing: true }, undefined],
    ['the newest, which begins', 'DEPLOYING', newest, undefined],
    ['the newest, which was interrupted', 'INTERRUPTED', newest, 'Try again'],
  ] as const)('%s', (_, status, place, label) => {
    expect(getRepeatLabel({ status, source: 'external_container' }, place)).toBe(label);
  });
});

describe('two revisions', () => {
  test('differ in the fields that are not the same, whatever their depth', () => {
    const before = {
      image_uri: 'a:1',
      auth: { mode: 'key' },
      placement: { zones: ['a', 'b'] },
      repo_ref: null,
    };
    const after = {
      image_uri: 'a:2',
      auth: { mode: 'key' },
      placement: { zones: ['a', 'c'] },
      gx_config_path: 'gx.json',
    };
    expect(listDifferences(before, after)).toEqual([
      { path: 'gx_config_path', before: undefined, after: 'gx.json' },
      { path: 'image_uri', before: 'a:1', after: 'a:2' },
      { path: 'placement.zones[1]', before: 'b', after: 'c' },
    ]);
    expect(listDifferences(before, { ...before })).toEqual([]);
  });

  const revision = {
    source: 'git',
    source_revision_config: { repo_ref: 'refs/tags/v1', repo_commit_sha: '0123456789' },
    image_digest: null,
  };
  test.each([
    [revision, 'v1 @ 01234567'],
    [
      {
        ...revision,
        source: 'external_container',
        source_revision_config: { image_uri: 'r.example/a:1' },
      },
      'a:1',
    ],
    [
      {
        source: 'external_container',
        source_revision_config: { image_uri: 'r.example/a:1' },
        image_digest: `sha256:${'f'.repeat(64)}`,
      },
      'a:1 @ffffffffffff',
    ],
  ])('are named by their origin', (given, text) => {
    expect(formatOrigin(given as Revision)).toBe(text);
  });
});

test.each([
  ['DEPLOYING', 'git', ['Queued done', 'Build done', 'Start current', 'Serve to come']],
  ['QUEUED', 'external_container', ['Queued current', 'Start to come', 'Serve to come']],
  ['DEPLOYED', 'git', []],
  ['BUILD_FAILED', 'git', []],
] as const)('a revision that is %s from %s is shown in steps', (status, source, steps) => {
  expect(listRolloutSteps({ status, source }).map(({ label, is }) => `${label} ${is}`)).toEqual(
    steps,
  );
});

describe('a .env file', () => {
  test('is read with comments, quotes, several lines and exports', () => {
    const text = [
      '# comment',
      'A=plain # note',
      "export B='it has # and \\n'",
      'C="two\\nlines"',
      'D="really',
      'two" # note',
      '',
      'E=',
      'A=last',
      'F=a=b#c',
      'G=sk-123 # mine',
      'H=sk-123\t# mine',
      'I= # empty',
      '',
    ].join('\r\n');
    expect(readDotEnv(text, 'python')).toEqual({
      faults: [],
      variables: [
        { name: 'A', value: 'last' },
        { name: 'B', value: 'it has # and \\n' },
        { name: 'C', value: 'two\nlines' },
        { name: 'D', value: 'really\ntwo' },
        { name: 'E', value: '' },
        { name: 'F', value: 'a=b#c' },
        { name: 'G', value: 'sk-123' },
        { name: 'H', value: 'sk-123' },
        { name: 'I', value: '' },
      ],
    });
  });

  test('is read as the language of the project does, and the names are told that differ', () => {
    const text = 'A=pa#ss\nB="x\\ty"\nC=${A}/x\nD=`same # in one`\nE=equal # note\n';
    const values = (reading: 'python' | 'javascript'): string[] =>
      readDotEnv(text, reading).variables.map(({ value }) => value);
    expect(values('python')).toEqual(['pa#ss', 'x\ty', 'pa#ss/x', '`same', 'equal']);
    expect(values('javascript')).toEqual([
      'pa',
      String.raw`x\ty`,
      '${A}/x',
      'same # in one',
      'equal',
    ]);
    expect(listDifferingNames(text)).toEqual(['A', 'B', 'C', 'D']);
    expect(readDotEnv('A=${ELSEWHERE}/x\nB=${ELSE:-}', 'python').faults).toEqual([
      '${ELSEWHERE} is in none of these lines: write its value.',
    ]);
  });

  test('names the lines that are no variables', () => {
    expect(readDotEnv('A=1\n2B=3\njust words', 'python').faults).toEqual([
      'Line 2 is not NAME=value.',
      'Line 3 is not NAME=value.',
    ]);
  });
});

test.each([
  [
    { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:gx.dev/Deployment:team/a' } },
    { tool: 'Argo CD', name: 'shop' },
  ],
  [{ labels: { 'argocd.argoproj.io/instance': 'shop' } }, { tool: 'Argo CD', name: 'shop' }],
  [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }, { tool: 'Flux', name: 'apps' }],
  [{ annotations: { 'meta.helm.sh/release-name': 'r' } }, { tool: 'Helm', name: 'r' }],
  [{ labels: { app: 'a' } }, undefined],
  [{}, undefined],
])('an object with %j is kept by %j', (marked, manager) => {
  expect(findGitOpsManager(marked)).toEqual(manager);
});

describe('the lines of a log', () => {
  const line = (text: string, level: ShownLine['level'] = 'INFO'): ShownLine => ({
    at: '2026-01-01T00:00:00Z',
    level,
    text,
  });
  const texts = (lines: readonly ShownLine[]): string[] => lines.map(({ text }) => text);

  test('are filtered by level and text, those that come later, too', () => {
    const log = new LogLines();
    log.add([line('one'), line('Two', 'ERROR'), { ...line('gap'), isGap: true }]);
    log.filter({ level: 'WARNING', text: 'tw' });
    log.add([line('two of two', 'CRITICAL'), line('three', 'ERROR')]);
    expect(texts(log.passing)).toEqual(['Two', 'gap', 'two of two']);
    log.filter({ level: 'DEBUG', text: '' });
    expect(texts(log.passing)).toEqual(['one', 'Two', 'gap', 'two of two', 'three']);
  });

  test('are bounded: the oldest go, and are counted', () => {
    const log = new LogLines();
    log.filter({ level: 'DEBUG', text: '9' });
    log.add(Array.from({ length: 100_001 }, (_, index) => line(String(index))));
    expect([log.all.length, log.dropped, log.all[0]?.text, log.passing[0]?.text]).toEqual([
      95_001,
      5000,
      '5000',
      '5009',
    ]);
  });

  test('lose the colours of terminals', () => {
    expect(stripColours('\u001B[31mred\u001B[0m [1m]')).toBe('red [1m]');
    expect(DRAWN).toBeLessThan(10_000);
  });
});
