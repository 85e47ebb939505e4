import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const pages = globSync(
  ['*.md', 'docs/**/*.md', 'examples/**/*.md', 'dev/**/*.md', 'test/**/*.md'],
  { exclude: ['**/node_modules/**'] },
);

/** Markdown without its code blocks, in which a bracket is no link. */
const proseOf = (page: string): string =>
  readFileSync(page, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s/g, '-');

const anchorsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
}

test('every relative link of a page leads to a file, and to a heading where it names one', () => {
  const broken = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link) && isBroken(page, link))
      .map((link) => `${page}: ${link}`),
  );
  expect(pages.length).toBeGreaterThan(20);
  expect(broken).toEqual([]);
});

test('every page that sources, charts and manifests name is there', () => {
  const files = globSync(
    ['src/**/*.ts', 'dev/**/*.ts', 'test/**/*.ts', 'charts/**/*.yaml', 'config/**/*.yaml'],
    {
      exclude: ['**/node_modules/**'],
    },
  );
  const missing = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/docs\/[\w/-]+\.md/g)]
      .filter(([page]) => !existsSync(page))
      .map(([page]) => `${file}: ${page}`),
  );
  expect(missing).toEqual([]);
});

test.each(['docs/architecture.md', 'docs/security.md'])(
  'every path that %s names is there',
  (page) => {
    const paths = [
      ...proseOf(page).matchAll(
        /`((?:src|dev|test|docs|charts|config|examples)\/[^`]*|Dockerfile)`/g,
      ),
    ].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => globSync(path).length === 0)).toEqual([]);
  },
);
