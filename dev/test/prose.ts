import { globSync, readFileSync } from 'node:fs';
import { referencePages } from '../reference/pages.ts';
import { program, say } from '../steps.ts';

/*
 * Lines of prose in Markdown files are at most as wide as those of comments, which the lint measures
 * (house/comment-width).
 * The pages printed from src/schema are left out.
 */
const MOST_COLUMNS = 120;
const PAGES = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'dev/**/*.md', 'examples/**/*.md', 'charts/**/*.md'];

/** Returns the lines that are too wide, except rows of tables, addresses and blocks of code. */
function wideLines(page: string): string[] {
  let isCode = false;
  return readFileSync(page, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (/^\s*```/.test(line)) isCode = !isCode;
      const isWide = line.length > MOST_COLUMNS && !isCode && !line.trimStart().startsWith('|') && !line.includes('://');
      return isWide ? [`${page}:${index + 1} has ${line.length} columns`] : [];
    });
}

async function main(): Promise<void> {
  const printed = Object.keys(referencePages()).map((page) => `docs/reference/${page}`);
  const pages = globSync(PAGES, { exclude: ['**/node_modules/**', 'dev/cluster/parts/**', ...printed] });
  const wide = pages.flatMap(wideLines);
  if (wide.length > 0) throw new Error(`Prose has at most ${MOST_COLUMNS} columns:\n${wide.join('\n')}`);
  say(`${pages.length} pages of prose`);
}

await program(main);
