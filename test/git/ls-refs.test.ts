import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchHeadCommit } from '../../src/git/ls-refs.ts';
import { buildGitPlaces } from '../../src/git/places.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';

const signal = new AbortController().signal;
const places = (...gitHosts: string[]) =>
  buildGitPlaces({ gitHosts, gitIntegrations: [] }, new Lookups());

describe.each([
  ['version 2', false, 'sha1'],
  ['the version before', true, 'sha1'],
  ['version 2, with objects named by SHA-256,', false, 'sha256'],
  ['the version before, with objects named by SHA-256,', true, 'sha256'],
])('a repository whose host speaks %s', (_, older, objectFormat) => {
  let git: GitHttp;
  let head: string;
  beforeAll(async () => {
    git = await startGitHttp({ older, objectFormat });
    head = git.push('main');
    git.tag('v1', 'main');
  });
  afterAll(() => git.stop());
  const ask = (ref: string) =>
    fetchHeadCommit(
      { host: git.url, url: `${git.url}/team/chat`, places: places(git.url) },
      ref,
      signal,
    );

  test('tells the head of a branch, and of a tag the commit that it marks', async () => {
    expect(await ask('main')).toBe(head);
    expect(await ask('refs/tags/v1')).toBe(head);
  });

  test('has no other branch, also none whose name begins alike', async () => {
    git.push('mainline');
    expect(await ask('mai')).toBeUndefined();
    expect(await ask('other')).toBeUndefined();
    expect(await ask('mainline')).not.toBe(head);
  });

  test('says what is wrong when its host refuses, hides it or fails', async () => {
    const failing = async (status: number) => {
      git.fail(status);
      const error = await ask('main').catch((thrown: unknown) => thrown as Error);
      git.fail(undefined);
      return error;
    };
    expect(await failing(401)).toMatchObject({
      name: 'Rejected',
      message: expect.stringContaining('refuses the credential'),
    });
    expect(await failing(404)).toMatchObject({
      name: 'Rejected',
      message: expect.stringContaining('does not know this'),
    });
    expect(await failing(502)).toMatchObject({
      name: 'Unavailable',
      message: expect.stringContaining('status 502'),
    });
    const away = {
      host: 'x',
      url: 'http://127.0.0.1:1/team/chat',
      places: places('http://127.0.0.1:1'),
    };
    await expect(fetchHeadCommit(away, 'main', signal)).rejects.toMatchObject({
      name: 'Unavailable',
    });
  });
});
