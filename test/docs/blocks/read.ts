import { globSync, readFileSync } from 'node:fs';

/** A block of code of a page. `at` is the page and the line of its fence. */
export type Block = { page: string; at: string; language: string; text: string };

const FENCE = /^(?<indent> *)```(?<language>\S*)$/;

/** Returns the blocks of the pages that people read, each without the indent of its list. */
export const readBlocks = (
  pages = ['README.md', ...globSync('docs/**/*.md').toSorted()],
): Block[] => pages.flatMap((page) => blocksOf(page, readFileSync(page, 'utf8').split('\n')));

function blocksOf(page: string, lines: string[]): Block[] {
  const blocks: Block[] = [];
  for (let line = 0; line < lines.length; line += 1) {
    const { indent = '', language = '' } = FENCE.exec(lines[line]!)?.groups ?? {};
    if (!FENCE.test(lines[line]!)) continue;
    const end = lines.findIndex((one, at) => at > line && one === `${indent}\`\`\``);
    const text = lines
      .slice(line + 1, end)
      .map((one) => (one.startsWith(indent) ? one.slice(indent.length) : one));
    blocks.push({ page, at: `${page}:${line + 1}`, language, text: text.join('\n') });
    line = end;
  }
  return blocks;
}
