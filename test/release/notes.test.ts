import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseVersionNotes } from '../../dev/release/changelog.ts';
import { requireVersion, requireSemanticVersion } from '../../dev/release/versions.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const CHANGELOG = `# Changelog

## Unreleased

### Added

- Not yet.

## 0.2.0

Commit: ${COMMIT}

### Added

- A first thing,
  in two lines.
- A second thing.

### Fixed

- A fault.

### Words to readers

- No change.

## 0.1.0

The first version.
`;

describe('the changes of a version', () => {
  test('are those of its own part, each with its kind', () => {
    const { commit, text, changes } = parseVersionNotes(CHANGELOG, '0.2.0');
    expect(commit).toBe(COMMIT);
    expect(text).toMatch(/^## 0\.2\.0\n/);
    expect(text).not.toMatch(/Not yet|first version/);
    expect(changes).toEqual([
      { kind: 'added', description: 'A first thing, in two lines.' },
      { kind: 'added', description: 'A second thing.' },
      { kind: 'fixed', description: 'A fault.' },
    ]);
  });

  test.each([
    ['0.3.0', 'CHANGELOG.md does not name version 0.3.0: add "## 0.3.0" with its changes.'],
    ['0.2', 'CHANGELOG.md does not name version 0.2:'],
    ['0.1.0', 'CHANGELOG.md names no commit of version 0.1.0'],
  ])('of %s are refused', (version, sentence) => {
    expect(() => parseVersionNotes(CHANGELOG, version)).toThrow(sentence);
  });

  test('of the version in package.json are in the CHANGELOG.md of this checkout', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(
      parseVersionNotes(readFileSync('CHANGELOG.md', 'utf8'), version).changes.length,
    ).toBeGreaterThan(0);
  });
});

describe('the version of a release', () => {
  const files = {
    'package.json': '{"version":"0.2.0"}',
    'package-lock.json': '{"version":"0.2.0"}',
    'Chart.yaml': 'version: 0.2.0\nappVersion: 0.2.0\n',
  };

  test('is in every file that names one', () => {
    expect(() => requireVersion('0.2.0', files)).not.toThrow();
  });

  test.each([
    ['package.json', '{"version":"0.1.9"}', 'package.json has 0.1.9'],
    ['package-lock.json', '{}', 'package-lock.json has none'],
    ['Chart.yaml', 'version: 0.1.0\nappVersion: 0.2.0\n', 'version of Chart.yaml has 0.1.0'],
    ['Chart.yaml', 'version: 0.2.0\nappVersion: 0.1.0\n', 'appVersion of Chart.yaml has 0.1.0'],
  ])('that %s does not name is refused (%s)', (file, text, words) => {
    expect(() => requireVersion('0.2.0', { ...files, [file]: text })).toThrow(
      `Not version 0.2.0: ${words}.`,
    );
  });

  test('is a semantic one', () => {
    expect(requireSemanticVersion('1.0.0-rc.1')).toBe('1.0.0-rc.1');
    for (const wrong of ['1.0', 'v1.0.0', '1.0.0/..', ''])
      expect(() => requireSemanticVersion(wrong)).toThrow('is no semantic version');
  });
});
