import { describe, expect, test } from 'vitest';
import { listJumpTargets } from '../../../src/console/page/deployments/jump-targets.ts';
import {
  parseListFilter,
  buildFirstPageQuery,
  buildFilterQuery,
  filterRows,
} from '../../../src/console/page/deployments/list-query.ts';
import { measureRowWindow } from '../../../src/console/page/shell/row-window.ts';
import { formatImage, formatSource } from '../../../src/console/page/deployments/source-text.ts';
import type { DeploymentSummary } from '../../../src/schema/platform/deployment/deployment-summary.ts';

const row = (name: string, parts: Partial<DeploymentSummary> = {}): DeploymentSummary => ({
  id: `id-${name}`,
  name,
  namespace: 'team',
  version: '1',
  state: 'serving',
  reason: null,
  message: null,
  serving: true,
  suspended: false,
  status: 'READY',
  source: 'external_container',
  image_uri: `registry.example/${name}:1`,
  repo_url: null,
  repo_ref: null,
  repo_commit_sha: null,
  image_version: null,
  url: null,
  latest_revision: null,
  active_revision: null,
  queue: { wanted: null, ready: null },
  interrupted_threads: null,
  usage_today: null,
  asleep_since: null,
  next_due_at: null,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  ...parts,
});
const ROWS = [
  row('b', { state: 'failed', reason: 'CrashLooping' }),
  row('c', { state: 'asleep', namespace: 'other', image_version: '2' }),
  row('a', { updated_at: '2026-02-01T00:00:00Z', repo_commit_sha: 'abcdef0123' }),
];
const names = (query: string): string[] =>
  filterRows(ROWS, parseListFilter(new URLSearchParams(query))).rows.map(({ name }) => name);

describe('the list of deployments', () => {
  test.each([
    ['', ['a', 'b', 'c']],
    ['sort=-name', ['c', 'b', 'a']],
    ['sort=state', ['b', 'a', 'c']],
    ['sort=-updated_at', ['a', 'b', 'c']],
    ['state=failed&state=asleep', ['b', 'c']],
    ['q=ABCDEF', ['a']],
    ['q=example/c', ['c']],
    ['namespace=other', ['c']],
    ['version=2&state=failed', []],
    ['reason=CrashLooping', ['b']],
    ['sort=color&state=red', ['a', 'b', 'c']],
  ])('shows by ?%s', (query, shown) => {
    expect(names(query)).toEqual(shown);
  });

  test('counts each state behind all other filters', () => {
    const { facets } = filterRows(
      ROWS,
      parseListFilter(new URLSearchParams('namespace=team&state=failed')),
    );
    expect(facets.states).toMatchObject({ failed: 1, serving: 1, asleep: 0 });
    expect([facets.reasons, facets.namespaces, facets.versions]).toEqual([
      ['CrashLooping'],
      ['other', 'team'],
      ['2'],
    ]);
  });

  test.each([
    '',
    'q=x&state=failed&state=asleep&reason=R&source=git&namespace=n&version=1&sort=-state',
  ])('an address ?%s is read and written without a change', (query) => {
    expect(buildFilterQuery(parseListFilter(new URLSearchParams(query))).toString()).toBe(query);
  });

  test('the server is asked for the rows that are shown first', () => {
    expect(
      buildFirstPageQuery(
        parseListFilter(new URLSearchParams('q=x&state=failed&sort=-updated_at')),
      ),
    ).toEqual({
      sort: '-updated_at',
      name_contains: 'x',
      state: ['failed'],
    });
  });
});

test.each([
  ['', ['a', 'b', 'c']],
  ['B', ['b']],
  ['x', []],
])('the letters %j go to %j', (text, found) => {
  expect(listJumpTargets(ROWS, text).map(({ name }) => name)).toEqual(found);
});

test('a name that begins with the letters is offered first', () => {
  const found = listJumpTargets([row('a-chat'), row('chat-b'), row('chat-a')], 'chat').map(
    ({ name }) => name,
  );
  expect(found).toEqual(['chat-a', 'chat-b', 'a-chat']);
});

test.each([
  [
    { top: 0, height: 400, rows: 10_000 },
    { first: 0, count: 20, before: 0, behind: 399_200, slots: 31 },
  ],
  [
    { top: 200_000, height: 400, rows: 10_000 },
    { first: 4990, count: 30, before: 199_600, behind: 199_200, slots: 31 },
  ],
  [
    { top: 900_000, height: 400, rows: 100 },
    { first: 99, count: 1, before: 3960, behind: 0, slots: 31 },
  ],
  [
    { top: 0, height: 400, rows: 0 },
    { first: 0, count: 0, before: 0, behind: 0, slots: 31 },
  ],
])('of a long list, %j draws %j', (given, drawn) => {
  expect(measureRowWindow({ ...given, row: 40 })).toEqual(drawn);
});

test.each([
  ['registry.example/team/agent:1', 'team/agent:1'],
  ['agent:1', 'agent:1'],
  ['team/agent', 'team/agent'],
  [`localhost:5000/a@sha256:${'0123456789ab'.padEnd(64, 'c')}`, 'a@0123456789ab'],
  [null, ''],
])('an image %s is shown as %s', (image, text) => {
  expect(formatImage(image)).toBe(text);
});

test.each([
  ['https://git.example/team/repo.git', 'team/repo · main'],
  ['git@git.example:team/repo', 'team/repo · main'],
  ['git.example:team/repo.git', 'team/repo · main'],
  ['http://10.0.0.1:3000/gx/hello', 'gx/hello · main'],
  ['https://user:token@git.example:8443/team/repo.git/', 'team/repo · main'],
  ['ssh://git@git.example:2222/team/repo.git', 'team/repo · main'],
  ['https://git.example/group/sub/repo', 'group/sub/repo · main'],
  ['git.example/team/repo', 'team/repo · main'],
])('a repository %s is shown as %s', (repo_url, text) => {
  expect(formatSource({ source: 'git', image_uri: null, repo_url, repo_ref: 'main' })).toBe(text);
});
