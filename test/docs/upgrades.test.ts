import { globSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('no page upgrades with --reuse-values, which leaves new values of the chart without their defaults', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'charts/**/*.{md,txt}', 'examples/**/*.md'], {
    exclude: ['**/node_modules/**'],
  });
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter((page) => readFileSync(page, 'utf8').includes('--reuse-values'))).toEqual([]);
});

test('the page on uninstalling deletes every definition', () => {
  const [, command = ''] =
    /^kubectl delete crd ((?:[^\n\\]|\\\n)+)$/m.exec(
      readFileSync('docs/how-to/uninstall.md', 'utf8'),
    ) ?? [];
  const definitions = readdirSync('crds').map((file) =>
    file.replace(/^gx\.dev_(.+)\.yaml$/, '$1.gx.dev'),
  );
  expect(command.split(/[\s\\]+/).toSorted()).toEqual(definitions.toSorted());
});
